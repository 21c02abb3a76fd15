"""What an approval is worth when it is used: every vote verified again, every rule asked again (design 3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.person import person_now
from aioc_opa.approvals.refused_state import reason_of_state
from aioc_opa.approvals.requesters import UnknownRequesterError, requesters_of
from aioc_opa.approvals.votes import VoteForgedError, verified_votes
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.core.approvals.tally import tally
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.reasons import Reason
from aioc_opa.models.approval_evidence import ApprovalEvidence, ApprovalVote

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.models.approval_bindings import ApprovalBindings
    from aioc_opa.models.approval_vote_statement import VoteStatement


class GrantRefusedError(Exception):
    """The approval lets nothing run.

    Attributes:
        reason: a reserved reason.
        detail: for operators; no values.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def evidence_of(record: ApprovalRecord, bindings: ApprovalBindings, broker: ApprovalBroker) -> ApprovalEvidence:
    """The evidence that an approved request gives for exactly the call that `bindings` describe.

    Args:
        record: as the store has it; believed in nothing that the votes do not confirm.
        bindings: of the call at hand, made by the guard from what it is about to run.
        broker: whose keys and people count.

    Raises:
        GrantRefusedError: in every other case.
    """
    if record.state is not ApprovalState.APPROVED:
        raise GrantRefusedError(reason_of_state(record.state), f"it is {record.state}")
    if broker.store.now_ms() >= record.expires_at_ms:
        raise GrantRefusedError(Reason.APPROVAL_EXPIRED, "its time is over")
    if changed := changed_bindings(record.bindings, bindings):
        raise GrantRefusedError(Reason.APPROVAL_BINDING_MISMATCH, f"changed: {', '.join(changed)}")
    if terms_digest(record.terms) != record.bindings.terms_digest:
        raise GrantRefusedError(Reason.APPROVAL_BINDING_MISMATCH, "the stored terms are not those that were voted on")
    try:
        votes = verified_votes(record, keys=broker.keys)
    except VoteForgedError as error:
        raise GrantRefusedError(Reason.APPROVAL_BINDING_MISMATCH, str(error)) from None
    if any(vote.verdict != "approved" for vote in votes):
        # Whatever became of its voter since: a rejection ends a request when it is cast, so this row was edited.
        raise GrantRefusedError(Reason.APPROVAL_REJECTED, "one of its votes is a rejection")
    requesters = _requesters(record, broker)
    counted = tuple(vote for vote in (_held_still(vote, record, broker) for vote in votes) if vote is not None)
    if tally(record.terms, counted, requesters=requesters or ()) is not ApprovalEvent.APPROVE:
        raise GrantRefusedError(Reason.APPROVAL_BINDING_MISMATCH, "the votes that count now do not meet the terms")
    return ApprovalEvidence(
        id=record.approval_id,
        proposal_hash=bindings.proposal_hash,
        requested_by=bindings.identity or "",
        requesters=requesters,
        votes=tuple(
            ApprovalVote(person_id=vote.person_id, roles=vote.roles, verdict=vote.verdict, at=vote.at)
            for vote in counted
        ),
        expires_at=rfc3339_of_ms(record.expires_at_ms),
        policy_revision=record.bindings.policy_revision,
    )


def changed_bindings(approved: ApprovalBindings, now: ApprovalBindings) -> tuple[str, ...]:
    """Names of the bindings that differ."""
    return tuple(name for name in type(approved).model_fields if getattr(approved, name) != getattr(now, name))


def _requesters(record: ApprovalRecord, broker: ApprovalBroker) -> tuple[str, ...] | None:
    """Who asked; None when nobody can tell and the terms do not need it.

    It is not nobody, which would show policy, where it asks for more by now, that no requester has voted.
    """
    try:
        return requesters_of(record.bindings, broker.people)
    except UnknownRequesterError as error:
        if record.terms.separation_of_duties:
            raise GrantRefusedError(Reason.APPROVAL_UNAVAILABLE, str(error)) from None
        return None


def _held_still(vote: VoteStatement, record: ApprovalRecord, broker: ApprovalBroker) -> VoteStatement | None:
    """The vote with the roles that its person still holds; None when the person is gone or left the tenant."""
    person = person_now(broker.people, vote.person_id)
    if person is None or not person.serves(record.tenant):
        return None
    return vote.model_copy(update={"roles": tuple(role for role in vote.roles if role in person.roles)})
