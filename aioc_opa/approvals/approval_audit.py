"""What the audit is told of an approval: what a person is about to do, each vote that counted, what became of it.

No arguments. Where the trail is ``required``, what cannot be recorded durably is not done: the record of the intent
comes before the step, as before an effect (design 3.4).
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from aioc_opa.approvals.records import NO_TENANT, ApprovalRecord
from aioc_opa.core.approvals.vote_text import statement_of
from aioc_opa.core.audit.labels import id_label
from aioc_opa.errors import AuditUnavailableError, VoteRefusedError
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import EffectIntent, EffectOutcome
    from aioc_opa.models.approval_vote_statement import SignedVote
    from aioc_opa.models.audit_event import AuditKind

logger: Final = logging.getLogger("aioc_opa.approvals")


class Trail(Protocol):
    """What is needed of an `audit.trail.AuditTrail`."""

    @property
    def mode(self) -> str:
        """``required`` or ``best_effort``."""
        ...

    def record(self, event: AuditEvent) -> None:
        """Record an event; never raises."""
        ...

    def record_intent(self, event: AuditEvent) -> None:
        """Record what is about to be done; raises `AuditUnavailableError`."""
        ...

    def proposal_ref(self, tenant: str | None, proposal_hash: str) -> str | None:
        """The reference of a proposal, under its tenant's key."""
        ...


class ApprovalAudit:
    """Makes the events of one broker; without a trail it makes none."""

    def __init__(self, trail: Trail | None) -> None:
        self._trail = trail

    def intend(self, by: str, detail: str, **about: Any) -> None:
        """Record that a person is about to do something, before it is done; only where the trail is ``required``.

        Args:
            by: person id.
            detail: what.
            about: ``of``, an approval or an effect, or ``tenant``.

        Raises:
            VoteRefusedError: it is not known to be recorded (``audit_unavailable``), so it must not be done.
        """
        if self._trail is None or self._trail.mode != "required":
            return
        try:
            event = self._event("approval_intended", by=by, detail=detail, **about)
            if event is not None:
                self._trail.record_intent(event)
                return
        except AuditUnavailableError:
            pass
        raise VoteRefusedError("audit_unavailable", "it cannot be recorded in the audit log, so it is not done")

    def voted(self, record: ApprovalRecord, vote: SignedVote) -> None:
        """A vote that was kept."""
        self._record("approval_vote", of=record, votes=(vote,))

    def moved(
        self, record: ApprovalRecord, *, votes: Sequence[SignedVote] | None = None, by: str | None = None
    ) -> None:
        """A request that is pending no more, or an approval that has ended: see the event's ``decision``.

        Args:
            record: as it is now.
            votes: those that did it; None for all of its own.
            by: person id of who ended it without a vote.
        """
        self._record(
            "approval_ended", of=record, votes=record.votes if votes is None else votes, decision=record.state, by=by
        )

    def settled(self, intent: EffectIntent, outcome: EffectOutcome, by: str) -> None:
        """How an unfinished effect ended, as a person found out."""
        decision = "outcome_unknown" if outcome == "unknown" else "completed"
        self._record("effect_settled", of=intent, decision=decision, detail=outcome, by=by)

    def removed(self, by: str, **about: Any) -> None:
        """Stored arguments were removed: of one approval (``of``), or of all that had ended (of ``tenant``)."""
        self._record("arguments_removed", by=by, **about)

    def _record(self, kind: AuditKind, **about: Any) -> None:
        if self._trail is None:
            return
        event = self._event(kind, **about)
        if event is not None:
            self._trail.record(event)

    def _event(
        self,
        kind: AuditKind,
        *,
        of: ApprovalRecord | EffectIntent | None = None,
        tenant: str | None = None,
        votes: Sequence[SignedVote] = (),
        **fields: Any,
    ) -> AuditEvent | None:
        """The event; None for what cannot be one: a row that somebody has edited."""
        try:
            statements = [statement_of(vote.statement) for vote in votes]
            if kind == "approval_vote":
                fields["decision"] = statements[0].verdict
            return AuditEvent(
                kind=kind,
                at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                voters=tuple(sorted({statement.person_id for statement in statements})),
                **({"tenant": tenant or None} if of is None else self._about(of)),
                **fields,
            )
        except ValueError:
            logger.critical("an audit event of kind %s cannot be written: somebody has edited what it is about", kind)
            return None

    def _about(self, of: ApprovalRecord | EffectIntent) -> dict[str, Any]:
        bound = of.bindings if isinstance(of, ApprovalRecord) else of
        tenant = None if of.tenant == NO_TENANT else of.tenant
        about = {
            "run_id": id_label(bound.run_id),
            "call_id": id_label(bound.call_id),
            "tool_name": bound.tool_name,
            "tenant": tenant,
            "approval_id": of.approval_id,
            "proposal_ref": None if self._trail is None else self._trail.proposal_ref(tenant, bound.proposal_hash),
        }
        if isinstance(bound, ApprovalBindings):
            about |= {
                "agent_name": id_label(bound.agent_name),
                "tool_version": bound.tool_version,
                "identity": bound.identity,
                "policy_revision": bound.policy_revision,
            }
        return about
