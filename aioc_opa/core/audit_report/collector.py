"""All figures of a report, from records taken one by one; memory does not grow with their number.

A *decision* is what a call came to at a step that could end it: a refusal at step 1 (access), and every answer of
step 5 (policy, or the runtime on its behalf), handoffs included. An access that was granted is not one: it goes on. A
call that waits for a person and goes on later is decided twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.core.audit.labels import UNDECLARED
from aioc_opa.core.audit_report.approvals import ApprovalLedger
from aioc_opa.core.audit_report.executions import ExecutionLedger
from aioc_opa.core.audit_report.revisions import RevisionLedger
from aioc_opa.core.audit_report.tallies import Tallies
from aioc_opa.core.audit_report.timeline import Timeline, seconds_of
from aioc_opa.core.reasons import RESERVED
from aioc_opa.models.audit_record import Checkpoint, EventContent, EventsDropped, TornRepaired, WriterStarted

if TYPE_CHECKING:
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.audit_record import AuditRecord

OUTCOMES: Final = ("allow", "approval_required", "deny")
"""The kinds of every tally of decisions, in this order."""

NOT_REGISTERED: Final = "sha256:"
"""How a name begins that the log has only as a digest."""

_OF_POLICY: Final = frozenset({"tool_policy", "handoff_policy"})
_REFUSING: Final = frozenset({"access", "permit_refused", *_OF_POLICY})


@dataclass(slots=True)
class WriterFigures:
    """One writer's records, as far as they are in the period.

    Attributes:
        writer: its name.
        records: how many.
        first_at: time of the first record of its whole log.
        last_at: time of the last.
        starts: processes that began to write.
        best_effort: how many processes of its whole log may drop events.
        dropped: events that it says it does not have, at most.
        repaired: writes that were cut off.
        checkpoints: signatures.
    """

    writer: str
    records: int = 0
    first_at: str | None = None
    last_at: str | None = None
    starts: int = 0
    best_effort: int = 0
    dropped: int = 0
    repaired: int = 0
    checkpoints: int = 0


@dataclass(slots=True)
class Figures:
    """What was counted.

    Attributes:
        since: first time of the period, RFC 3339 in UTC with milliseconds; None for all before.
        until: the time after it; None for all after.
        tenants: only events of these; empty for all.
        timeline: decisions over time, by outcome.
        steps: decisions by step, by outcome.
        tools: likewise by tool. Names that are not registered are one row, under `NOT_REGISTERED`.
        principals: likewise by identity.
        reasons: of decisions that allow nothing at once; kinds are held and denied.
        runtime: refusals that the runtime gave itself, by reserved reason.
        engines: decisions of policy by engine.
        approvals: see there.
        executions: see there.
        revisions: see there.
        writers: by name.
        events: in the period.
        undeclared: decisions with a reason that no pack declares.
        nameless: decisions without an identity.
        unreferenced: decisions of policy without a proposal's reference.
        timeless: records whose time is none.
        without_run: decisions that name no run.
    """

    since: str | None = None
    until: str | None = None
    tenants: frozenset[str] = frozenset()
    timeline: Timeline = field(default_factory=lambda: Timeline(len(OUTCOMES)))
    steps: Tallies = field(default_factory=lambda: Tallies(len(OUTCOMES)))
    tools: Tallies = field(default_factory=lambda: Tallies(len(OUTCOMES)))
    principals: Tallies = field(default_factory=lambda: Tallies(len(OUTCOMES)))
    reasons: Tallies = field(default_factory=lambda: Tallies(2))
    runtime: Tallies = field(default_factory=lambda: Tallies(1))
    engines: Tallies = field(default_factory=lambda: Tallies(len(OUTCOMES)))
    approvals: ApprovalLedger = field(default_factory=ApprovalLedger)
    executions: ExecutionLedger = field(default_factory=ExecutionLedger)
    revisions: RevisionLedger = field(default_factory=RevisionLedger)
    writers: dict[str, WriterFigures] = field(default_factory=dict)
    events: int = 0
    undeclared: int = 0
    nameless: int = 0
    unreferenced: int = 0
    timeless: int = 0
    without_run: int = 0

    def take(self, record: AuditRecord) -> None:
        """Count a record, if it is of the period and of the tenants that are asked for."""
        writer = self.writers.setdefault(record.writer, WriterFigures(record.writer))
        writer.first_at = min(writer.first_at or record.at, record.at)
        writer.last_at = max(writer.last_at or record.at, record.at)
        content = record.content
        if type(content) is WriterStarted:
            writer.best_effort += content.mode == "best_effort"  # it holds for what comes later, in the period
        if (self.since is not None and record.at < self.since) or (self.until is not None and record.at >= self.until):
            return
        writer.records += 1
        if type(content) is EventContent:
            if not self.tenants or content.event.tenant in self.tenants:
                self._event(record, content.event)
        elif type(content) is WriterStarted:
            writer.starts += 1
        elif type(content) is EventsDropped:
            writer.dropped += content.count
        elif type(content) is TornRepaired:
            writer.repaired += 1
        elif type(content) is Checkpoint:
            writer.checkpoints += 1

    def _event(self, record: AuditRecord, event: AuditEvent) -> None:
        self.events += 1
        self.approvals.take(event)
        self.executions.take(record, event)
        if event.kind in _REFUSING and event.decision == "deny" and event.reason in RESERVED:
            self.runtime.add(event.reason)
        if event.kind in _OF_POLICY or (event.kind == "access" and event.decision == "deny"):
            self._decision(record, event)

    def _decision(self, record: AuditRecord, event: AuditEvent) -> None:
        if event.decision not in OUTCOMES:
            return
        outcome = OUTCOMES.index(event.decision)
        seconds = seconds_of(record.at)
        if seconds is None:
            self.timeless += 1
        else:
            self.timeline.add(seconds, outcome)
        self.steps.add(event.kind, outcome)
        self.tools.add(_tool(event), outcome)
        if outcome and event.reason is not None:
            self.reasons.add(event.reason, outcome - 1)
        self.undeclared += UNDECLARED in (event.reason, *event.reasons)
        self.without_run += event.run_id is None
        if event.identity is None:
            self.nameless += 1
        else:
            self.principals.add(event.identity, outcome)
        if event.kind in _OF_POLICY:
            self.unreferenced += event.proposal_ref is None
            self.revisions.take(record.at, event)
            self.engines.add(event.engine or "", outcome)


def _tool(event: AuditEvent) -> str:
    """The tool's name, ``(handoff)`` for what is none, or `NOT_REGISTERED`."""
    if event.kind == "handoff_policy":
        return "(handoff)"
    name = event.tool_name or NOT_REGISTERED
    return NOT_REGISTERED if name.startswith(NOT_REGISTERED) else name
