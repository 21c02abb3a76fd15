"""How a guard delivers refusals, and what passes through it from a handler."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.errors import (
    AiocOpaError,
    ToolArgumentsValidationError,
    ToolCallApprovalRequiredError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Suspended
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, denying, holding
from tests.guarded_shop import ORDER, Item, Order, Shop


def test_a_denial_is_delivered_raised_or_as_a_value_and_policy_can_say_which() -> None:
    shop = Shop(ScriptedEngine(lambda q: {**denying(q), "publicReason": "Not today."}))
    with pytest.raises(ToolCallPolicyDeniedError) as caught:
        shop.guard.call("order", ORDER, agent_name="agent")
    assert (caught.value.code, caught.value.public_reason) == ("because", "Not today.")
    valued = Shop(ScriptedEngine(lambda q: {**denying(q), "resultMode": "tool_result"}))
    assert valued.guard.call("order", ORDER, agent_name="agent") == RefusalResult(
        status="denied", code="because", public_reason="This call is not allowed by policy."
    )
    forced = Shop(ScriptedEngine(lambda q: {**denying(q), "resultMode": "throw"}), result_mode="tool_result")
    with pytest.raises(ToolCallPolicyDeniedError):
        forced.guard.call("order", ORDER, agent_name="agent")


def test_a_held_call_is_suspended_with_both_views_and_a_way_to_find_it() -> None:
    shop = Shop(
        ScriptedEngine(lambda q: {**holding(q), "expiresAt": "2999-01-01T00:00:00Z"}), result_mode="tool_result"
    )
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent", call_id="c1")
    assert isinstance(outcome, Suspended)
    assert outcome.proposal.requested_arguments == {"items": [{"sku": "a"}]}
    assert outcome.proposal.parsed_arguments == {"items": [{"sku": "a", "count": 1}], "notes": {}}
    value = shop.guard.call("order", ORDER, agent_name="agent", call_id="c1")
    assert value.status == "approval_required"
    assert value.data["callId"] == "c1"
    assert value.data["expiresAt"] == "2999-01-01T00:00:00Z"
    raising = Shop(ScriptedEngine(holding))
    with pytest.raises(ToolCallApprovalRequiredError) as caught:
        raising.guard.call("order", ORDER, agent_name="agent")
    assert caught.value.suspended.proposal.tool_name == "order"
    assert shop.ran == raising.ran == []


def test_validation_errors_always_raise_whatever_the_delivery() -> None:
    shop = Shop(ScriptedEngine(), result_mode="tool_result")
    with pytest.raises(ToolArgumentsValidationError):
        shop.guard.call("order", "{", agent_name="agent")


def test_what_the_handler_raises_passes_unchanged() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision())
    mine = ValueError("mine")

    @guard.tool()
    def fails() -> None:
        raise mine

    with pytest.raises(ValueError, match="mine") as caught:
        guard.call("fails", "{}", agent_name="agent")
    assert caught.value is mine


def test_an_error_of_our_tree_out_of_a_handler_leaves_the_tree() -> None:
    inner = Shop(ScriptedEngine(denying))
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")

    @guard.tool()
    def outer() -> None:
        inner.guard.call("order", ORDER, agent_name="agent")

    with pytest.raises(ToolExecutionError) as caught:
        guard.call("outer", "{}", agent_name="agent")
    assert not isinstance(caught.value, AiocOpaError)
    assert isinstance(caught.value.__cause__, ToolCallPolicyDeniedError)


def test_a_provider_that_fails_denies_and_the_handler_is_not_entered() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")
    ran = []

    @guard.tool(inject={"db": lambda call: 1 / 0})
    def query(text: str, db: object) -> None:
        ran.append(text)

    assert guard.call("query", '{"text": "x"}', agent_name="agent").code == "permit_invalid"
    assert ran == []


def test_a_provider_that_changes_the_arguments_is_found_out() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")
    judged: list[Any] = []
    ran = []

    @guard.tool(inject={"hook": lambda call: judged[0].items.append(Item(sku="more"))})
    def use(order: Order, hook: object) -> None:
        ran.append(order)

    outcome = guard.authorize("use", f'{{"order": {ORDER}}}', agent_name="agent")
    assert isinstance(outcome, Allowed)
    state = next(iter(guard._core.permits._open.values()))
    args, kwargs = state.tool.schema.bind(state.parsed)
    judged.extend([*args, *kwargs.values()])
    assert guard.execute(outcome.permit).code == "policy_mutated_arguments"
    assert ran == []


def test_no_internal_error_lets_a_call_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(ScriptedEngine())
    monkeypatch.setattr("aioc_opa.guard_core.judge", lambda *a, **k: 1 / 0)
    monkeypatch.setattr("aioc_opa.handoff_core.judge", lambda *a, **k: 1 / 0)
    assert shop.guard.authorize("order", ORDER, agent_name="agent").code == "policy_unavailable"
    assert shop.guard.authorize_handoff("x", "{}", from_agent_name="agent").code == "policy_unavailable"
