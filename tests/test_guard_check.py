"""`guard.check()` says in words what is wrong with a set-up."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import GuardCheckError
from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing, denying


def check(answer: Any) -> Any:
    guard = ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision())
    guard.register_json_schema("act", {"type": "object"}, lambda arguments: None)
    return guard.check()


def test_a_guard_without_tools_fails() -> None:
    with pytest.raises(GuardCheckError, match="no tool is registered"):
        ToolGuard(ScriptedEngine(denying), revision_gate=UnsafeAnyRevision()).check()


def test_a_policy_that_denies_the_probe_is_sound() -> None:
    report = check(denying)
    assert report.rule == "data.aioc.tool_policy.decision"
    assert report.accepts_any_revision is True
    assert report.policy_revision == '{"scripted":"1"}'


def test_a_misspelt_handoff_path_is_found_when_handoffs_are_checked() -> None:
    def only_tools(question: dict[str, Any]) -> Any:
        return denying(question) if question["kind"] == "tool" else UNDEFINED

    def any_handoff(question: dict[str, Any]) -> Any:
        return denying(question) if question["kind"] == "tool" else allowing(question)

    for answer, words in ((only_tools, "handoff_policy.*misspelt"), (any_handoff, "ALLOWS a handoff")):
        guard = ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision())
        guard.register_json_schema("act", {"type": "object"}, lambda arguments: None)
        assert guard.check().tools == ("act",)
        with pytest.raises(GuardCheckError, match=words):
            guard.check(handoffs=True)
    sound = ToolGuard(ScriptedEngine(denying), revision_gate=UnsafeAnyRevision())
    sound.register_json_schema("act", {"type": "object"}, lambda arguments: None)
    assert sound.check(handoffs=True).tools == ("act",)
    tiny = ToolGuard(ScriptedEngine(denying), revision_gate=UnsafeAnyRevision(), max_body_bytes=10)
    with pytest.raises(GuardCheckError, match="max_body_bytes"):
        tiny.check(handoffs=True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda q: UNDEFINED, "misspelt"),
        (lambda q: {"allow": True}, "not a decision"),
        (lambda q: {**denying(q), "requestId": "other"}, "echo"),
        (lambda q: EngineFailureError(Reason.POLICY_UNAVAILABLE, "refused"), "cannot be reached"),
        (lambda q: EngineFailureError(Reason.POLICY_TIMEOUT, "late"), "within the deadline"),
        (lambda q: EngineFailureError(Reason.POLICY_EVALUATION_ERROR, "x"), "opa check"),
        (allowing, "ALLOWS a tool that nobody owns"),
    ],
)
def test_each_fault_is_named_with_its_cure(answer: Any, words: str) -> None:
    with pytest.raises(GuardCheckError, match=words):
        check(answer)
