"""Step 1 as a caller of the guard meets it: before any argument is read, silent about tools, first of all steps."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from dataclasses import asdict
from typing import Any

import pytest

from aioc_opa import (
    Allowed,
    AsyncToolGuard,
    ConfigurationError,
    Denied,
    Principal,
    Reason,
    RunContext,
    Suspended,
    ToolArgumentsValidationError,
    ToolCallPolicyDeniedError,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.opa_adapter import OpaToolPolicy
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.models.tool_authorization import ToolApprovalResult
from tests.access.gating import Adapter, Approvals, Remembering, result
from tests.doubles import ScriptedEngine, allowing, denying, holding

CANARY = "sk-canary-51c2"
KIM = Principal(identity="kim", roles=("operator",))
CALL: dict[str, Any] = {
    "agent_name": "support",
    "principal": KIM,
    "run_context": RunContext(run_id="run-1", context={"note": CANARY}),
    "call_id": "call-1",
}
ARGUMENTS = json.dumps({"order": CANARY})


class Both:
    """The same questions to a guard of either kind."""

    def __init__(self, kind: str, engine: ScriptedEngine | None = None, **settings: Any) -> None:
        made: Any = ToolGuard if kind == "sync" else AsyncToolGuard
        self.engine = engine or ScriptedEngine()
        self.entered: list[str] = []
        self.guard = made(self.engine, revision_gate=UnsafeAnyRevision(), **settings)

        @self.guard.tool(cost=2)
        def refund(order: str) -> str:
            self.entered.append(order)
            return "paid back"

        @self.guard.tool()
        def purge(order: str) -> str:
            self.entered.append(order)
            return "gone"

    def authorize(self, tool: str = "refund", arguments: Any = ARGUMENTS, **options: Any) -> Any:
        return self._ran(self.guard.authorize(tool, arguments, **{**CALL, **options}))

    def call(self, tool: str = "refund", arguments: Any = ARGUMENTS, **options: Any) -> Any:
        return self._ran(self.guard.call(tool, arguments, **{**CALL, **options}))

    @staticmethod
    def _ran(value: Any) -> Any:
        async def ran() -> Any:
            return await value

        return asyncio.run(ran()) if inspect.isawaitable(value) else value


def gate(**parts: Any) -> AccessGate:
    binding = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund"}))
    return AccessGate(identities=parts.pop("identities", IdentityBindings([binding])), **parts)


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_gate_runs_before_argument_validation_and_handler(kind: str) -> None:
    both = Both(kind, access=gate())
    outcome = both.authorize("purge", "no JSON at all")
    assert (outcome.code, outcome.stage) == ("tool_not_authorized", "access")
    assert both.engine.questions == []
    assert both.entered == []
    with pytest.raises(ToolArgumentsValidationError):
        both.authorize("refund", "no JSON at all")


def test_unknown_and_forbidden_look_alike_to_the_caller_and_the_audit_tells_them_apart(kind: str) -> None:
    both = Both(kind, access=gate())
    forbidden, unknown = both.authorize("purge"), both.authorize("nothing_of_the_kind")
    assert {forbidden.audit_code, unknown.audit_code} == {"tool_not_authorized", "tool_not_registered"}

    def seen(outcome: Denied) -> dict[str, Any]:
        return {name: value for name, value in asdict(outcome).items() if name not in {"audit_code", "duration_ms"}}

    assert seen(forbidden) == seen(unknown)
    assert repr(forbidden).partition("duration_ms")[0] == repr(unknown).partition("duration_ms")[0]
    errors = []
    for tool in ("purge", "nothing_of_the_kind"):
        with pytest.raises(ToolCallPolicyDeniedError) as caught:
            both.call(tool)
        errors.append((str(caught.value), caught.value.code, caught.value.public_reason))
    assert errors[0] == errors[1]


def test_a_denial_says_nothing_about_the_schema(kind: str) -> None:
    both = Both(kind, access=gate(), result_mode="tool_result")
    refused = both.call("purge", '{"wrong": 1}')
    assert refused.model_dump() == {
        "status": "denied",
        "code": "tool_not_authorized",
        "public_reason": "This tool is not available.",
        "data": {},
    }


def test_a_canary_in_arguments_and_context_reaches_nothing_of_step_1(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    access_engine = ScriptedEngine(
        lambda question: {"decision": "allow", "reason": "allowed", **_access_echoes(question)}
    )
    policy, events = Adapter(lambda request: result("allow")), Remembering()
    asked = Approvals(lambda request: None)
    for adapter in (policy, OpaToolPolicy(access_engine)):
        both = Both(kind, access=gate(adapter=adapter, approvals=asked, events=events))
        assert both.call() == "paid back"
        both.authorize("purge")
        both.authorize(CANARY)
    written = [
        *(request.model_dump_json() for request in policy.requests),
        *(event.model_dump_json() for event in events.events),
        json.dumps(access_engine.questions),
        caplog.text,
    ]
    assert access_engine.questions
    assert not [text for text in written if CANARY in text]


def _access_echoes(question: dict[str, Any]) -> dict[str, Any]:
    return {key: question[key] for key in ("requestId", "requestDigest", "kind")}


@pytest.mark.parametrize("broken", [RuntimeError(CANARY), ValueError(CANARY)])
def test_a_gate_that_raises_or_lies_is_a_deny(kind: str, broken: Exception, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def authorize(self, *_: Any) -> Any:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        async def authorize_async(self, *_: Any) -> Any:
            return self.authorize()

        visible = require_usable = bound = lambda *_, **__: ()

    for answer in (broken, True, None, "allow", {"decision": "allow"}):
        both = Both(kind, access=Broken(answer))
        outcome = both.authorize()
        assert (outcome.code, outcome.audit_code) == ("tool_not_authorized", "tool_not_authorized")
    assert CANARY not in caplog.text


def test_the_tenant_is_the_bindings_whatever_the_principal_claims(kind: str) -> None:
    both = Both(kind, access=gate())
    both.authorize(principal=Principal(identity="kim", tenant="somebody-elses"))
    assert both.engine.questions[-1]["principal"]["tenant"] == "acme"
    legacy = Both(kind, access=gate(identities=IdentityBindings(), legacy_tools={"refund"}))
    legacy.authorize(principal=Principal(identity="kim", tenant="somebody-elses"))
    assert "tenant" not in legacy.engine.questions[-1]["principal"]


def test_an_approval_of_step_1_never_counts_for_the_arguments(kind: str) -> None:
    approved = Approvals(_approved)
    access = gate(adapter=Adapter(lambda request: result("approval_required")), approvals=approved)
    both = Both(kind, ScriptedEngine(holding), access=access)
    outcome = both.authorize()
    assert isinstance(outcome, Suspended)
    assert len(approved.requests) == 1
    assert "approval" not in both.engine.questions[-1]


def _approved(request: Any) -> Any:
    return ToolApprovalResult.answering(request, "approved", reason_code="fine")


def test_a_person_who_does_not_decide_in_time_gives_approval_timed_out(kind: str) -> None:
    expired = Approvals(lambda request: ToolApprovalResult.answering(request, "expired", reason_code="nobody"))
    access = gate(adapter=Adapter(lambda request: result("approval_required")), approvals=expired)
    outcome = Both(kind, access=access).authorize()
    assert (outcome.code, outcome.stage) == (Reason.APPROVAL_TIMED_OUT, "access")


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
