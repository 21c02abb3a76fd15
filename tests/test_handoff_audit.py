"""A handoff's decision is on record before the application can carry it out; what a model says of it is not."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import AsyncToolGuard, HandoffAllowed, HandoffDenied, Principal, RunContext, ToolGuard, UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing, denying, holding
from tests.test_guard_audit import CANARY, Audited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAYLOAD = f'{{"note": "{CANARY}"}}'
HANDOFF: dict[str, Any] = {
    "from_agent_name": "front",
    "principal": Principal(identity="kim", tenant="acme"),
    "run_context": RunContext(run_id="run-1", context={"note": CANARY}),
    "turn": 2,
}


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(kind: str, tmp_path: Path) -> Iterator[Any]:
    opened: list[Audited] = []

    def make(answer: Any = allowing, **options: Any) -> Audited:
        opened.append(Audited(kind, tmp_path / str(len(opened)), answer=answer, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.sink.failing = False
        one.trail.close()


def decided(one: Audited, target: Any = "billing", payload: Any = PAYLOAD, **options: Any) -> Any:
    return one.ran(one.guard.authorize_handoff(target, payload, **{**HANDOFF, **options}))


def test_a_handoff_is_one_event_with_its_ids_names_and_codes(made: Any) -> None:
    for answer, decision in ((allowing, "allow"), (holding, "approval_required")):
        one = made(answer)
        outcome = decided(one)
        (event,) = one.events()
        assert event["kind"] == "handoff_policy"
        assert (event["agentName"], event["toAgentName"]) == ("front", "billing")
        assert (event["identity"], event["tenant"], event["runId"], event["turn"]) == ("kim", "acme", "run-1", 2)
        assert (event["decision"], event["requestId"]) == (decision, outcome.question.request_id)
        assert event["proposalRef"] == one.trail.proposal_ref("acme", outcome.question.proposal_hash)
        assert event["durationMs"] >= 0
        assert CANARY not in one.everything()


def test_whom_a_model_invents_is_a_digest(made: Any) -> None:
    one = made(denying)
    assert isinstance(decided(one, CANARY), HandoffDenied)
    (event,) = one.events()
    assert event["decision"] == "deny"
    assert event["toAgentName"] == "sha256:" + hashlib.sha256(CANARY.encode()).hexdigest()
    assert CANARY not in one.everything()


def test_a_handoff_whose_surroundings_are_none_is_on_record(made: Any) -> None:
    one = made()
    outcome = decided(one, from_agent_name="", principal="kim")
    assert outcome.code == "policy_input_invalid"
    (event,) = one.events()
    assert (event["kind"], event["decision"], event["reason"]) == ("handoff_policy", "deny", "policy_input_invalid")
    assert "identity" not in event
    assert "proposalRef" not in event


def test_a_failing_engine_is_on_record(made: Any) -> None:
    one = made(lambda question: OSError(CANARY))
    assert decided(one).code == "policy_unavailable"
    assert [event["reason"] for event in one.events()] == ["policy_unavailable"]
    assert CANARY not in one.everything()


def test_in_required_mode_a_handoff_that_is_not_on_record_is_denied(made: Any) -> None:
    one = made()
    one.sink.failing = True
    outcome = decided(one)
    assert isinstance(outcome, HandoffDenied)
    assert outcome.code == "audit_unavailable"
    assert outcome.question is not None
    one.sink.failing = False
    assert isinstance(decided(one), HandoffAllowed)
    assert len(one.events()) == 1


def test_in_required_mode_an_event_that_cannot_be_written_denies_too(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = made()
    monkeypatch.setattr("aioc_opa.guard_audit.event_of", lambda *_, **__: None)
    assert decided(one).code == "audit_unavailable"


def test_in_best_effort_mode_a_handoff_goes_on(made: Any) -> None:
    one = made(mode="best_effort")
    one.sink.failing = True
    assert isinstance(decided(one), HandoffAllowed)
    one.sink.failing = False


def test_a_denial_that_is_not_on_record_stays_what_it_is(made: Any, caplog: pytest.LogCaptureFixture) -> None:
    one = made(denying)
    one.sink.failing = True
    assert decided(one).code == "because"
    assert "not known to be durable" in caplog.text


def test_without_a_trail_nothing_changes(kind: str) -> None:
    guard: Any = (ToolGuard if kind == "sync" else AsyncToolGuard)(ScriptedEngine(), revision_gate=UnsafeAnyRevision())
    found: Any = Audited.ran(guard, guard.authorize_handoff("billing", PAYLOAD, **HANDOFF))
    assert isinstance(found, HandoffAllowed)
