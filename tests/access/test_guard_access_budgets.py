"""Budgets, visible tools and surroundings of a guard with an access gate."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa import (
    Allowed,
    ConfigurationError,
    Principal,
    ToolArgumentsValidationError,
)
from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.identities import IdentityBinding
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from tests.access.gating import result
from tests.access.guarded_access import ARGUMENTS, CANARY, KIM, Both, gate
from tests.doubles import ScriptedEngine, allowing, denying, holding


@pytest.mark.parametrize(
    ("answer", "arguments", "given_back"),
    [(allowing, ARGUMENTS, False), (denying, ARGUMENTS, True), (holding, ARGUMENTS, True), (allowing, "[]", True)],
    ids=["allowed", "denied", "held", "invalid"],
)
def test_a_budget_is_given_back_only_if_the_handler_was_never_entered(
    kind: str, answer: Any, arguments: str, given_back: bool
) -> None:
    ledger = MemoryBudgetLedger()
    limits = BudgetLimits(calls_per_run=1)
    both = Both(kind, ScriptedEngine(answer), access=gate(budgets=Budgets(ledger, limits)), result_mode="tool_result")
    for _ in range(2):
        try:
            outcome = both.call(arguments=arguments)
        except ToolArgumentsValidationError:
            outcome = None
    over = outcome is not None and outcome != "paid back" and outcome.code == "tool_not_authorized"
    assert over is not given_back
    assert len(both.entered) == (0 if given_back else 1)


def test_a_permit_that_is_refused_gives_the_budget_back(kind: str) -> None:
    ledger = MemoryBudgetLedger()
    both = Both(kind, access=gate(budgets=Budgets(ledger, BudgetLimits(calls_per_run=1))), result_mode="tool_result")

    def provider(invocation: Any) -> str:
        raise RuntimeError

    def noted(order: str, clerk: str) -> str:
        return order + clerk

    both.guard.register_function(noted, name="noted", inject={"clerk": provider})
    both.guard.settings.access._steps.lists._identities._bindings["kim"] = (
        IdentityBinding(  # the same caller, one tool more
            identity="kim", tools=frozenset({"noted", "refund"})
        )
    )
    assert both.call("noted").code == "permit_invalid"
    assert both.call("refund") == "paid back"


def test_cost_units_are_the_tools(kind: str) -> None:
    ledger = MemoryBudgetLedger()
    both = Both(kind, access=gate(budgets=Budgets(ledger, BudgetLimits(cost_per_run=3))), result_mode="tool_result")
    assert both.call() == "paid back"
    outcome = both.authorize()
    assert (outcome.code, outcome.audit_code) == ("tool_not_authorized", "budget_exceeded")


def test_visible_tools_are_those_the_caller_could_use_at_all(kind: str) -> None:
    both = Both(kind, access=gate())
    assert both.guard.visible_tools(KIM) == ("refund",)
    assert both.guard.visible_tools(Principal(identity="stranger")) == ()
    assert both.guard.visible_tools(None) == ()
    assert Both(kind).guard.visible_tools(KIM) == ("purge", "refund")


def test_visible_tools_fails_to_an_empty_list(kind: str) -> None:
    class Failing:
        def find(self, identity: str) -> Any:
            raise RuntimeError(CANARY)

    assert Both(kind, access=gate(identities=Failing())).guard.visible_tools(KIM) == ()
    both = Both(kind, access=gate())
    object.__setattr__(both.guard.settings, "access", object())
    assert both.guard.visible_tools(KIM) == ()


def test_omitted_adapters_and_an_omitted_gate_preserve_what_was(kind: str) -> None:
    assert isinstance(Both(kind).authorize(), Allowed)
    assert isinstance(Both(kind, access=gate()).authorize(), Allowed)
    assert Both(kind).authorize("nothing_of_the_kind").audit_code == "tool_not_registered"


def test_an_adapter_for_event_loops_is_refused_by_a_plain_guard() -> None:
    class Awaited:
        async def authorize(self, request: Any) -> Any:
            return result("allow")

    with pytest.raises(ConfigurationError, match="AsyncToolGuard"):
        Both("sync", access=gate(adapter=Awaited()))
    with pytest.raises(ConfigurationError, match="access"):
        Both("sync", access=object())


def test_what_surrounds_a_call_is_checked_before_the_gate(kind: str) -> None:
    both = Both(kind, access=gate())
    for wrong in (
        {"capability": ""},
        {"capability": 7},
        {"provider": "x" * 129},
        {"turn": -1},
        {"run_started_by": b"kim"},
    ):
        outcome = both.authorize(**wrong)
        assert outcome.code == "policy_input_invalid"


def test_a_forbidden_tool_marked_once_looks_like_one_that_is_not_there(kind: str) -> None:
    both = Both(kind, access=gate(), effects=MemoryApprovalStore())
    both.guard.register_function(lambda: None, name="write_off", once=True)
    forbidden, unknown = (both.authorize(tool, "{}", call_id=None) for tool in ("write_off", "nothing_of_the_kind"))
    assert (forbidden.code, forbidden.public_reason) == (unknown.code, unknown.public_reason)
    assert forbidden.code == "tool_not_authorized"
