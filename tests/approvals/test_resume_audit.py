"""Every end of a resume is on record: the deny of what nobody may use any more, and the approval that a decision used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import AsyncToolGuard, Principal, ToolGuard
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from tests.approvals.desk import Desk
from tests.approvals.treasury import KIM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.telemetry.observer import ObservedCall, ObservedDecision
    from tests.approvals.store_cases import SqlCase
    from tests.approvals.treasury import Treasury

TENANT_KEY = b"k" * 32


class Counter:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.decisions: list[ObservedDecision] = []

    def began(self, call: ObservedCall) -> Counter:
        return self

    def ended(self, decision: ObservedDecision) -> None:
        self.decisions.append(decision)


class RecordedDesk(Desk):
    """A desk whose guard keeps a record in a folder and is watched."""

    def __init__(self, treasury: Treasury, kind: str, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.counter = Counter()
        self.trail = AuditTrail(
            JsonLinesSink(folder), writer="one", key=AuditKey.generate(), tenant_keys={"acme": TENANT_KEY}
        )
        super().__init__(treasury, kind, audit=self.trail, telemetry=self.counter, **settings)

    def events(self) -> list[dict[str, Any]]:
        assert self.trail.flush()
        lines = [
            json.loads(line) for path in sorted(self.folder.rglob("*.jsonl")) for line in path.read_text().splitlines()
        ]
        return [line["content"]["event"] for line in lines if "event" in line["content"]]

    def after(self, act: Any) -> tuple[Any, list[dict[str, Any]]]:
        """What `act` gives, and the events that it made."""
        known = len(self.events())
        return act(), self.events()[known:]

    def refused(self, reason: str, approval_id: Any, **options: Any) -> dict[str, Any]:
        """The event of a resume that is denied with `reason`; nothing runs, and the deny is counted once."""
        self.counter.decisions.clear()
        outcome, (event,) = self.after(lambda: self.authorize_resume(approval_id, **options))
        assert isinstance(outcome, Denied), outcome
        (told,) = self.counter.decisions
        assert (told.verdict, told.reason, told.approval_id) == ("deny", reason, event.get("approvalId"))
        assert (event["kind"], event["decision"], event["reason"]) == ("tool_policy", "deny", reason)
        return event


@pytest.fixture
def recorded(treasury: Treasury, kind: str, tmp_path: Path) -> Iterator[RecordedDesk]:
    desk = RecordedDesk(treasury, kind, tmp_path / "audit")
    yield desk
    desk.trail.close()


def test_the_decision_on_a_resumed_call_names_the_approval_that_it_used(recorded: RecordedDesk) -> None:
    approval_id = recorded.approved()
    recorded.counter.decisions.clear()
    result, events = recorded.after(lambda: recorded.resume(approval_id))
    assert result == "moved 500.0 to A7"
    decided, started, ended = events
    assert (decided["kind"], decided["decision"], decided["approvalId"]) == ("tool_policy", "allow", approval_id)
    assert started["approvalId"] == ended["approvalId"] == approval_id
    assert [told.approval_id for told in recorded.counter.decisions] == [approval_id]


def test_the_deny_of_a_policy_that_no_longer_allows_names_the_approval_too(recorded: RecordedDesk) -> None:
    approval_id = recorded.approved()
    frozen = recorded.authorize_resume(approval_id, run_context=None)
    assert isinstance(frozen, Denied)
    event = recorded.events()[-1]
    assert (event["decision"], event["reason"], event["approvalId"]) == ("deny", frozen.audit_code, approval_id)


def test_what_was_used_up_is_refused_on_record(recorded: RecordedDesk) -> None:
    approval_id = recorded.approved()
    recorded.resume(approval_id)
    event = recorded.refused("approval_consumed", approval_id)
    proposal_hash = recorded.treasury.record(approval_id).bindings.proposal_hash
    del event["at"], event["durationMs"]
    assert event == {
        "kind": "tool_policy",
        "decision": "deny",
        "reason": "approval_consumed",
        "identity": "kim",
        "tenant": "acme",
        "agentName": "clerk",
        "runId": "run-1",
        "callId": "call-1",
        "toolName": "transfer",
        "toolVersion": "1",
        "approvalId": approval_id,
        "proposalRef": proposal_ref(TENANT_KEY, proposal_hash),
    }


def test_who_tries_the_approval_of_another_is_named(recorded: RecordedDesk) -> None:
    approval_id = recorded.approved()
    theo = Principal(identity="theo", tenant="acme")
    event = recorded.refused("approval_binding_mismatch", approval_id, principal=theo)
    assert (event["identity"], event["toolName"], event["approvalId"]) == ("theo", "transfer", approval_id)


@pytest.mark.parametrize("tenant", [None, "other"])
def test_from_another_tenant_it_is_not_there_and_the_event_says_nothing_of_the_call(
    recorded: RecordedDesk, tenant: str | None
) -> None:
    approval_id = recorded.approved()
    event = recorded.refused("approval_unavailable", approval_id, principal=Principal(identity="kim", tenant=tenant))
    assert event["approvalId"] == approval_id
    assert {"toolName", "runId", "callId", "agentName", "proposalRef"}.isdisjoint(event)


@pytest.mark.parametrize("no_id", ["", "apr_x", "sk-canary-4411", "\ud800", "a" * 100_000, None, 7])
def test_what_is_no_id_is_not_written_down(recorded: RecordedDesk, no_id: Any) -> None:
    event = recorded.refused("approval_unavailable", no_id)
    assert "approvalId" not in event
    assert "sk-canary" not in json.dumps(event)


def test_a_store_that_is_down_is_a_deny_on_record(recorded: RecordedDesk, sqlite_case: SqlCase) -> None:
    approval_id = recorded.approved()
    sqlite_case.store.close()
    event = recorded.refused("approval_unavailable", approval_id)
    assert event["approvalId"] == approval_id


def test_a_tool_that_is_gone_is_a_deny_on_record(treasury: Treasury, kind: str, tmp_path: Path) -> None:
    approval_id = Desk(treasury, kind).approved()
    desk = RecordedDesk(treasury, kind, tmp_path / "audit")
    desk.guard = (ToolGuard if kind == "sync" else AsyncToolGuard)(
        treasury.engine, revision_gate=desk.guard.settings.revision_gate, approvals=treasury.broker, audit=desk.trail
    )
    outcome = desk.authorize_resume(approval_id)
    assert isinstance(outcome, Denied)
    (event,) = desk.events()
    assert (event["reason"], event["approvalId"]) == ("tool_not_registered", approval_id)
    assert event["toolName"].startswith("sha256:")
    desk.trail.close()


def test_while_nobody_has_decided_nothing_is_recorded_but_the_look_at_the_arguments(recorded: RecordedDesk) -> None:
    approval_id = recorded.held()
    outcome, events = recorded.after(lambda: recorded.authorize_resume(approval_id))
    assert isinstance(outcome, Suspended)
    assert events == []
    assert [entry.action for entry in recorded.treasury.store.access_log("acme", approval_id)] == ["resume"]


@pytest.mark.parametrize("reason", ["approval_timed_out", "approval_rejected"])
def test_a_wait_that_ends_in_a_deny_is_on_record_under_the_question_that_was_held(
    recorded: RecordedDesk, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    if reason == "approval_rejected":
        opens = recorded.treasury.broker.open

        def rejected_at_once(held: Any) -> Any:
            opened = opens(held)
            assert opened.record is not None
            recorded.treasury.vote(opened.record.approval_id, verdict="rejected")
            return opened

        monkeypatch.setattr(recorded.treasury.broker, "open", rejected_at_once)
    refusal, (held, denied) = recorded.after(lambda: recorded.call(wait=0.05))
    assert refusal.code == reason
    assert (held["decision"], denied["decision"], denied["reason"]) == ("approval_required", "deny", reason)
    for name in ("requestId", "approvalId", "proposalRef", "toolName", "toolVersion", "runId", "callId", "identity"):
        assert held[name] == denied[name], name


def test_with_an_access_gate_the_event_names_the_tenant_that_the_gate_says(
    treasury: Treasury, kind: str, tmp_path: Path
) -> None:
    approval_id = Desk(treasury, kind).approved()
    kim = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"transfer"}))
    gate = AccessGate(identities=IdentityBindings([kim]))
    desk = RecordedDesk(treasury, kind, tmp_path / "audit", access=gate)
    desk.refused("approval_unavailable", "apr_" + "0" * 32, principal=Principal(identity="kim", tenant="acme"))
    outcome = desk.authorize_resume(approval_id, principal=KIM)
    assert isinstance(outcome, Allowed), outcome
    access, decided = desk.events()[-2:]
    assert (access["kind"], access["decision"]) == ("access", "allow")
    assert access["approvalId"] == decided["approvalId"] == approval_id
    assert access["tenant"] == decided["tenant"] == "acme"
    desk.trail.close()
