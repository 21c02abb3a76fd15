"""Approvals, executions, revisions and the collector: what is counted, and what is said when something is let go of."""

from __future__ import annotations

import random
from typing import Any

import pytest

from aioc_opa.core.audit_report.approvals import ApprovalLedger
from aioc_opa.core.audit_report.collector import NOT_REGISTERED, Figures
from aioc_opa.core.audit_report.executions import ExecutionLedger
from aioc_opa.core.audit_report.revisions import RevisionLedger
from aioc_opa.models.audit_event import AuditEvent
from aioc_opa.models.audit_record import AuditRecord

ZERO = "0" * 64


def at(minute: int) -> str:
    return f"2026-07-15T{9 + minute // 60:02d}:{minute % 60:02d}:00.000Z"


def event(kind: str, minute: int = 0, **facts: Any) -> AuditEvent:
    return AuditEvent.model_validate({"kind": kind, "at": at(minute), **facts})


def record(content: dict[str, Any] | AuditEvent, when: str = at(0), writer: str = "one") -> AuditRecord:
    given = {"type": "event", "event": content} if isinstance(content, AuditEvent) else content
    return AuditRecord.model_validate(
        {"version": 1, "writer": writer, "log_id": "a" * 32, "segment": 1, "sequence": 1, "at": when}
        | {"prev_hash": ZERO, "content": given, "hash": ZERO}
    )


def life(number: int, end: str | None = "approved", *, used: bool = False) -> list[AuditEvent]:
    about = {"approval_id": f"apr_{number:032x}", "tool_name": "pay", "identity": "bot", "tenant": "acme"}
    events = [event("tool_policy", number, decision="approval_required", reason="large", **about)]
    if end in ("approved", "rejected"):
        events.append(event("approval_vote", number + 2, decision=end, voters=("ann",), **about))
    if end is not None:
        events.append(event("approval_ended", number + 2, decision=end, voters=("ann",), **about))
    if used:
        events.append(event("execution_started", number + 3, execution_id=f"e{number}", **about))
    return events


def test_approvals_are_followed_in_any_order() -> None:
    events = [*life(1, used=True), *life(2, "rejected"), *life(3, "expired"), *life(4, None), *life(5), *life(6)]
    events.append(event("approval_ended", 20, decision="revoked", approval_id=f"apr_{6:032x}"))
    # What the runtime is told again while it waits is the same request.
    events.append(event("tool_policy", 30, decision="approval_required", approval_id=f"apr_{4:032x}"))
    seen = []
    for seed in range(3):
        random.Random(seed).shuffle(events)  # noqa: S311 - a test
        ledger = ApprovalLedger()
        for each in events:
            ledger.take(each)
        seen.append(ledger.summary(top=9, listed=9))
    assert seen[0].states == seen[1].states == seen[2].states
    assert [one.approval_id for one in seen[0].latest] == [one.approval_id for one in seen[2].latest]
    summary = seen[0]
    assert summary.states == {
        "used": 1, "revoked": 1, "dismissed": 0, "expired": 1, "rejected": 1, "approved": 1, "pending": 1,
    }  # fmt: skip
    assert summary.waits.count == 4
    assert summary.waits.longest_ms == 120_000
    assert [(row.name, row.counts) for row in summary.voters.rows] == [("ann", (3, 1))]
    first = summary.latest[0]
    assert (first.approval_id, first.requested_at, first.state) == (f"apr_{6:032x}", at(6), "revoked")
    assert summary.latest[-1].votes == {"ann": "approved"}
    assert summary.total == 6


def test_more_approvals_than_are_followed_are_counted_and_said() -> None:
    ledger = ApprovalLedger(capacity=2)
    for number in range(1, 6):
        for each in life(number):
            ledger.take(each)
    for _ in range(2):  # a summary changes nothing
        summary = ledger.summary(top=9, listed=9)
        assert (summary.states["approved"], summary.total, summary.given_up) == (5, 5, 3)
        assert summary.waits.count == 5
        assert len(summary.latest) == 2


def test_an_approval_without_its_request_waited_nobody_knows_how_long() -> None:
    ledger = ApprovalLedger()
    ledger.take(life(1)[-1])
    ledger.take(event("tool_policy", decision="allow"))  # of no approval
    summary = ledger.summary(top=1, listed=1)
    assert (summary.latest[0].requested_at, summary.latest[0].waited_ms, summary.waits.count) == (None, None, 0)


def test_executions_without_an_end_are_named() -> None:
    ledger = ExecutionLedger()
    steps = [
        ("execution_started", "a"), ("execution_completed", "a"), ("execution_started", "b"), ("execution_failed", "b"),
        ("execution_started", "c"), ("permit_refused", "c"), ("permit_refused", None), ("execution_started", "d"),
        ("execution_completed", "before"), ("execution_failed", None), ("tool_policy", None),
    ]  # fmt: skip
    for kind, name in steps:
        made = event(kind, execution_id=name, tool_name="pay")
        ledger.take(record(made), made)
    summary = ledger.summary(listed=5)
    assert (summary.started, summary.completed, summary.failed) == (4, 2, 2)
    assert (summary.not_entered, summary.earlier, summary.unended) == (1, 2, 1)
    assert [(one.tool, one.writer, one.sequence) for one in summary.first_unended] == [("pay", "one", 1)]


def test_more_open_executions_than_are_kept_count_as_unended() -> None:
    ledger = ExecutionLedger(capacity=3)
    for number in range(10):
        made = event("execution_started", execution_id=f"e{number}")
        ledger.take(record(made), made)
    assert (ledger.summary(listed=9).unended, len(ledger.summary(listed=9).first_unended)) == (10, 3)


def test_revisions_have_their_first_and_last_decision() -> None:
    ledger = RevisionLedger(capacity=2)
    for text, minute, digest in (("b", 5, "d1"), ("a", 2, None), ("b", 1, "d2"), ("b", 9, "d1"), ("c", 3, None)):
        ledger.take(at(minute), event("tool_policy", policy_revision=text, bundle_digest=digest))
    ledger.take(at(1), event("tool_policy"))
    first, second = ledger.ordered()
    assert (first.text, first.first_at, first.last_at, first.decisions) == ("b", at(1), at(9), 3)
    assert first.digests == {"d1", "d2"}
    assert (second.text, ledger.passed_over, ledger.unnamed) == ("a", 1, 1)


def test_a_decision_is_what_a_call_came_to() -> None:
    figures = Figures()
    for made in (
        event("access", decision="allow", reason="allowed", tool_name="pay", identity="kim"),  # it goes on
        event("tool_policy", decision="allow", reason="allowed", tool_name="pay", identity="kim", engine="opa"),
        event("access", decision="deny", reason="tool_not_registered", tool_name=f"sha256:{ZERO}"),
        event("tool_policy", decision="deny", reason="undeclared", tool_name="pay", identity="kim"),
        event("handoff_policy", decision="approval_required", reason="large", identity="kim", run_id="r"),
        event("permit_refused", decision="deny", reason="permit_invalid", tool_name="pay"),
        event("approval_vote", decision="approved", voters=("ann",)),
    ):
        figures.take(record(made))
    assert figures.steps.top(9).totals == (1, 1, 2)
    assert {row.name for row in figures.tools.top(9).rows} == {"pay", NOT_REGISTERED, "(handoff)"}
    assert {row.name for row in figures.runtime.top(9).rows} == {"tool_not_registered", "permit_invalid"}
    assert {row.name: row.counts for row in figures.reasons.top(9).rows} == {
        "tool_not_registered": (0, 1), "undeclared": (0, 1), "large": (1, 0),
    }  # fmt: skip
    assert (figures.undeclared, figures.nameless, figures.unreferenced, figures.without_run) == (1, 1, 3, 3)
    assert figures.events == 7


def test_only_the_period_and_the_tenants_are_counted() -> None:
    figures = Figures(since=at(10), until=at(20), tenants=frozenset({"acme"}))
    for minute, tenant in ((9, "acme"), (10, "acme"), (19, "acme"), (19, "other"), (19, None), (20, "acme")):
        made = event("tool_policy", decision="allow", reason="allowed", tenant=tenant)
        figures.take(record(made, when=at(minute)))
    assert figures.events == 2
    writer = figures.writers["one"]
    assert (writer.records, writer.first_at, writer.last_at) == (4, at(9), at(20))


def test_what_a_log_says_of_itself_is_counted_by_writer() -> None:
    figures = Figures(since=at(5))
    started = {"type": "writer_started", "key_id": "k", "public_key": "A" * 43 + "=", "mode": "best_effort"}
    figures.take(record(started, when=at(0)))
    for content in (
        {"type": "events_dropped", "count": 3},
        {"type": "torn_repaired", "length": 2, "digest": ZERO},
        {"type": "checkpoint", "key_id": "k", "signature": "A" * 86 + "=="},
        started,
    ):
        figures.take(record(content, when=at(6)))
    writer = figures.writers["one"]
    assert (writer.dropped, writer.repaired, writer.checkpoints, writer.starts, writer.best_effort) == (3, 1, 1, 1, 2)


@pytest.mark.parametrize("decision", ["completed", None])
def test_an_event_of_policy_with_another_decision_is_none(decision: str | None) -> None:
    figures = Figures()
    figures.take(record(event("tool_policy", decision=decision)))
    assert (figures.events, figures.steps.top(1).rows) == (1, ())


def test_a_time_that_is_none_is_counted_and_not_charted() -> None:
    figures = Figures()
    figures.take(record(event("tool_policy", decision="allow", reason="allowed"), when="2026-02-31T00:00:00.000Z"))
    assert (figures.timeless, figures.timeline.bars()) == (1, None)
