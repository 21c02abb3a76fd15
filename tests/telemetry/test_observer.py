"""An observer can neither stop nor change a decision, and a trace context is a help and never a condition."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import ConfigurationError, ToolGuard, UnsafeAnyRevision
from aioc_opa.engines.http_trace import trace_line
from tests.doubles import ScriptedEngine

if TYPE_CHECKING:
    from aioc_opa.telemetry.observer import ObservedCall, ObservedDecision

GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Odd:
    """Fails where it is told to."""

    def __init__(self, fails_at: str = "") -> None:
        self.fails_at = fails_at
        self.seen: list[ObservedCall | ObservedDecision] = []

    def began(self, call: ObservedCall) -> Odd:
        self.seen.append(call)
        if self.fails_at == "began":
            raise ValueError("canary-77")
        return self

    def ended(self, decision: ObservedDecision) -> None:
        self.seen.append(decision)
        if self.fails_at == "ended":
            raise ValueError("canary-77")


@pytest.mark.parametrize("fails_at", ["began", "ended"])
def test_an_observer_that_fails_changes_nothing_and_is_not_quoted(
    fails_at: str, caplog: pytest.LogCaptureFixture
) -> None:
    guard = make(Odd(fails_at))
    with caplog.at_level(logging.WARNING):
        assert guard.call("think", "{}", agent_name="a") == "done"
    assert [r.getMessage() for r in caplog.records] == ["the observer of decisions failed: ValueError"]


def make(observer: Any) -> ToolGuard:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), telemetry=observer, audit_codes=())
    guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "done")
    return guard


def test_what_is_no_observer_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="telemetry must be something like"):
        make(object())


def test_the_hash_and_the_tenant_stay_out_of_what_an_observer_prints() -> None:
    observer = Odd()
    outcome = make(observer).authorize("think", "{}", agent_name="a")
    assert outcome.question is not None
    assert observer.seen[-1].proposal_hash == outcome.question.proposal_hash  # type: ignore[union-attr]
    assert outcome.question.proposal_hash not in repr(observer.seen)


def test_a_call_that_was_turned_away_is_seen_without_its_name() -> None:
    observer = Odd()
    make(observer).authorize("canary-77", "{}", agent_name="a")
    make(observer).authorize("think", "{}", agent_name=7)  # type: ignore[arg-type]
    assert [each.reason for each in observer.seen[1::2]] == ["tool_not_registered", "policy_input_invalid"]  # type: ignore[union-attr]
    assert [each.failed for each in observer.seen[1::2]] == [False, True]  # type: ignore[union-attr]
    assert "canary-77" not in repr(observer.seen)


def test_a_trace_context_is_sent_as_it_is() -> None:
    assert trace_line(lambda: GOOD) == f"traceparent: {GOOD}\r\n".encode()


@pytest.mark.parametrize(
    "odd",
    [
        None, "", 7, GOOD.upper(), GOOD + "\r\nX: y", GOOD + "\n", "01" + GOOD[2:], GOOD[:-3],
        "00-" + "0" * 32 + GOOD[35:], GOOD[:36] + "0" * 16 + "-01",
    ],
)  # fmt: skip
def test_what_is_no_trace_context_is_not_sent(odd: Any) -> None:
    assert trace_line(lambda: odd) == b""


def test_a_trace_context_that_cannot_be_had_is_not_sent_and_not_quoted(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> str:
        raise RuntimeError("canary-77")

    assert trace_line(fails) == b""
    assert [r.getMessage() for r in caplog.records] == ["the trace context cannot be had: RuntimeError"]
