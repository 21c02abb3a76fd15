"""Handoffs by a guard: a path, a hash and errors of their own."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED
from aioc_opa.delivery import deliver
from aioc_opa.errors import (
    HandoffApprovalRequiredError,
    HandoffPolicyDeniedError,
    ToolArgumentsValidationError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import HandoffAllowed, HandoffDenied, HandoffSuspended
from aioc_opa.models.principal import Principal
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing, denying, echoes, holding
from tests.guarded_shop import ORDER, Shop


def test_handoffs_share_strict_json_and_have_their_own_path_and_hash() -> None:
    engine = ScriptedEngine()
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    outcome = guard.authorize_handoff(
        "billing", '{"why": "refund"}', from_agent_name="front", principal=Principal(identity="ann")
    )
    assert isinstance(outcome, HandoffAllowed)
    assert outcome.payload == {"why": "refund"}
    assert engine.paths == ["aioc/handoff_policy/decision"]
    assert engine.questions[0]["toAgentName"] == "billing"
    assert engine.questions[0]["kind"] == "handoff"
    for bad in ("{", '{"a":1,"a":2}', "[]", "", "null", None):
        broken: Any = bad
        with pytest.raises(ToolArgumentsValidationError) as caught:
            guard.authorize_handoff("billing", broken, from_agent_name="front")
        assert caught.value.stage == "json"
    assert len(engine.questions) == 1


def test_handoffs_are_denied_held_and_fail_closed() -> None:
    def build(answer: Any, **settings: Any) -> ToolGuard:
        return ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision(), **settings)

    denied = build(denying).authorize_handoff("billing", "{}", from_agent_name="front")
    assert isinstance(denied, HandoffDenied)
    with pytest.raises(HandoffPolicyDeniedError):
        deliver(denied, "throw")
    assert deliver(denied, "tool_result").status == "denied"
    held = build(holding).authorize_handoff("billing", '{"a": [1]}', from_agent_name="front")
    assert isinstance(held, HandoffSuspended)
    assert held.proposal.handoff_payload == {"a": [1]}
    with pytest.raises(HandoffApprovalRequiredError):
        deliver(held, "throw")
    assert deliver(held, "tool_result").status == "approval_required"
    assert build(lambda q: UNDEFINED).authorize_handoff("b", "{}", from_agent_name="f").code == "policy_undefined"
    assert build(lambda q: OSError()).authorize_handoff("b", "{}", from_agent_name="f").code == "policy_unavailable"
    assert build(allowing).authorize_handoff("", "{}", from_agent_name="f").code == "policy_input_invalid"
    assert (
        build(allowing, max_body_bytes=10).authorize_handoff("b", "{}", from_agent_name="f").code
        == "policy_input_invalid"
    )


def test_handoffs_are_delivered_like_calls() -> None:
    def build(answer: Any, **settings: Any) -> ToolGuard:
        return ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision(), **settings)

    assert build(allowing).handoff("b", '{"a": 1}', from_agent_name="f") == {"a": 1}
    with pytest.raises(HandoffPolicyDeniedError):
        build(denying).handoff("b", "{}", from_agent_name="f")
    with pytest.raises(HandoffApprovalRequiredError):
        build(holding).handoff("b", "{}", from_agent_name="f")
    value = build(denying, result_mode="tool_result").handoff("b", "{}", from_agent_name="f")
    assert isinstance(value, RefusalResult)


def test_a_handoff_payload_that_changes_meanwhile_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    prepared: list[Any] = []
    import aioc_opa.handoff_core as module

    prepare = module.prepare_handoff

    def spy(*args: Any, **kwargs: Any) -> Any:
        prepared.append(prepare(*args, **kwargs))
        return prepared[-1]

    monkeypatch.setattr(module, "prepare_handoff", spy)
    engine.meanwhile = lambda: prepared[-1].payload.update(more=1)
    assert guard.authorize_handoff("b", "{}", from_agent_name="f").code == "policy_mutated_arguments"


def test_echoes_are_what_the_question_has() -> None:
    shop = Shop(ScriptedEngine())
    shop.guard.authorize("order", ORDER, agent_name="agent")
    assert echoes(shop.engine.questions[0])["kind"] == "tool"
