"""`guard.check()` says in words what is wrong with a set-up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import GuardCheckError
from aioc_opa.guard import ToolGuard
from aioc_opa.revision_gate import UnsafeAnyRevision
from aioc_opa.revision_gates import AllOf
from tests.doubles import ScriptedEngine, allowing, denying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aioc_opa.revision_gate import RevisionGate


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


class AskedGate:
    """A gate that knows what it last asked for, and accepts from the `good`th question on."""

    def __init__(self, good: int, fault: Exception | None = None) -> None:
        self.good, self.fault, self.asked = good, fault, 0

    def accepts(self, policy_revision: str | None) -> bool:
        return policy_revision is not None and self.asked >= self.good

    def refresh(self) -> tuple[str, ...]:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return () if self.asked >= self.good else ("bundle 'tools': last fetched long ago",)


def both_guards(gate: RevisionGate) -> Iterator[Callable[[], object]]:
    """`check` of the sync and of the async guard."""
    for made in (ToolGuard, AsyncToolGuard):
        guard = made(ScriptedEngine(denying), revision_gate=gate)
        guard.register_json_schema("act", {"type": "object"}, lambda arguments: None)
        yield (
            lambda guard=guard: (
                asyncio.run(guard.check(handoffs=True))
                if isinstance(guard, AsyncToolGuard)
                else guard.check(handoffs=True)
            )
        )


def test_a_check_lets_the_gate_ask_and_judges_by_what_is_true_now_sync_and_async() -> None:
    for gate, asking in ((one := AskedGate(1), one), (AllOf(UnsafeAnyRevision(), two := AskedGate(1)), two)):
        for times, check_now in enumerate(both_guards(gate), start=1):
            check_now()
            assert asking.asked == times


def test_a_check_says_what_the_gate_found_wrong_just_now() -> None:
    for check_now in both_guards(AskedGate(9)):
        with pytest.raises(GuardCheckError, match=r"bundle 'tools': last fetched long ago.*policy_revision_rejected"):
            check_now()


def test_a_gate_that_fails_to_ask_fails_the_check_without_its_words() -> None:
    for check_now in both_guards(AskedGate(1, RuntimeError("a canary"))):
        with pytest.raises(GuardCheckError, match=r"cannot be refreshed: RuntimeError$"):
            check_now()


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
