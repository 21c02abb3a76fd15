"""Whether a vote may be cast: the checks of `ApprovalBroker.cast`, made again by `redemption` when a grant is used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aioc_opa.approvals.person import person_now
from aioc_opa.approvals.votes import VoteForgedError, verified_votes
from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.core.approvals.tally import refuse_vote
from aioc_opa.errors import VoteRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from aioc_opa.approvals.keys import VoteKeys
    from aioc_opa.approvals.people import PeopleDirectory, Person
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.models.approval_vote_statement import SignedVote, VoteStatement


def check_vote(
    record: ApprovalRecord,
    vote: SignedVote,
    *,
    keys: VoteKeys,
    people: PeopleDirectory,
    requesters: Collection[str],
    counted: bool = False,
) -> tuple[VoteStatement, ...]:
    """All statements of `record` with `vote` among them, when it may be cast.

    Args:
        record: as the store has it.
        vote: the new one.
        keys: whose votes count.
        people: who is who now.
        requesters: who may not vote under separation of duties.
        counted: whether `vote` is in `record` already, as the store is about to write it.

    Raises:
        VoteRefusedError: saying why.
    """
    earlier = tuple(kept for kept in record.votes if kept.signature != vote.signature)
    if len(record.votes) - len(earlier) > (1 if counted else 0):
        raise VoteRefusedError("already_voted", "this very vote has been cast already")
    try:
        *before, statement = verified_votes(replace(record, votes=(*earlier, vote)), keys=keys)
    except VoteForgedError as error:
        raise VoteRefusedError("vote_not_genuine", str(error)) from None
    person = person_now(people, statement.person_id)
    if person is None:
        raise VoteRefusedError("person_unknown", "the voter is not in the directory")
    if not person.serves(record.tenant):
        raise VoteRefusedError("tenant_not_allowed", "the voter does not belong to this tenant")
    if not set(statement.roles) <= person.roles:
        raise VoteRefusedError("role_not_held", "the vote claims a role that the voter does not hold")
    refuse_vote(statement, terms=record.terms, requesters=requesters, earlier=before)
    return (*before, statement)


def require_may_end(record: ApprovalRecord, person: Person, event: ApprovalEvent) -> None:
    """Whether `person` may end `record` by `event`: it holds a role that the terms ask for.

    Raises:
        VoteRefusedError: it does not.
    """
    if not person.serves(record.tenant):
        raise VoteRefusedError("tenant_not_allowed", "you do not belong to this tenant")
    if event is ApprovalEvent.DISMISS and person.person_id in record.requesters:
        return  # who asked may withdraw
    asked = {role for requirement in record.terms.requirements for role in requirement.approver_roles}
    if asked.isdisjoint(person.roles):
        raise VoteRefusedError("role_missing", "you hold none of the roles that may decide about this call")
