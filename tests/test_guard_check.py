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
