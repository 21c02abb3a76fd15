"""What the audit is told of an approval: each vote that counted, and what became of the request. No arguments."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.core.approvals.vote_text import statement_of
from aioc_opa.core.audit.labels import id_label
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.models.approval_vote_statement import SignedVote

logger: Final = logging.getLogger("aioc_opa.approvals")


class Trail(Protocol):
    """What is needed of an `audit.trail.AuditTrail`."""

    def record(self, event: AuditEvent) -> None:
        """Record an event; never raises."""
        ...

    def proposal_ref(self, tenant: str | None, proposal_hash: str) -> str | None:
        """The reference of a proposal, under its tenant's key."""
        ...


class ApprovalAudit:
    """Makes the events of one broker; without a trail it makes none."""

    def __init__(self, trail: Trail | None) -> None:
        self._trail = trail

    def voted(self, record: ApprovalRecord, vote: SignedVote) -> None:
        """A vote that was kept."""
        self._record("approval_vote", record, (vote,))

    def moved(self, record: ApprovalRecord) -> None:
        """A request that is pending no more, or an approval that has ended: see the event's ``decision``."""
        self._record("approval_ended", record, record.votes)

    def _record(
        self, kind: Literal["approval_vote", "approval_ended"], record: ApprovalRecord, votes: Sequence[SignedVote]
    ) -> None:
        trail, bound = self._trail, record.bindings
        if trail is None:
            return
        try:
            statements = [statement_of(vote.statement) for vote in votes]
            decision: Any = record.state.value if kind == "approval_ended" else statements[0].verdict
            event = AuditEvent(
                kind=kind,
                at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                run_id=id_label(bound.run_id),
                call_id=id_label(bound.call_id),
                agent_name=id_label(bound.agent_name),
                tool_name=bound.tool_name,
                tool_version=bound.tool_version,
                identity=bound.identity,
                tenant=None if record.tenant == NO_TENANT else record.tenant,
                policy_revision=bound.policy_revision,
                approval_id=record.approval_id,
                proposal_ref=trail.proposal_ref(bound.tenant, bound.proposal_hash),
                decision=decision,
                voters=tuple(sorted({statement.person_id for statement in statements})),
            )
        except ValueError:  # a row that somebody has edited
            logger.critical("the audit event of %s cannot be written", record.approval_id)
            return
        trail.record(event)
