"""Counting votes: who may vote, and what the votes on one request come to (design 3.5).

1. One eligible rejecting vote rejects.
2. Every requirement must be met, each by `quorum` distinct persons who have one of its roles. One vote may count for
   several requirements; a person counts once for a requirement, through however many accounts or votes.
3. Under separation of duties no requester's vote counts, for or against.

The result does not depend on the order of the votes, and a further vote can only take it forward: from nothing to
approved or rejected, from approved to rejected.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.errors import VoteRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from aioc_opa.models.approval_vote_statement import VoteStatement
    from aioc_opa.models.decision import ApprovalTerms


_PROBLEMS: Final = MappingProxyType(
    {
        "requester_may_not_vote": "who asks, or is asked for, does not vote on the request",
        "role_missing": "none of the voter's roles is one that a requirement asks for",
        "already_voted": "this person has voted so already",
        "contradicts_earlier_vote": "this person has voted otherwise; a vote cannot be taken back",
    }
)


def tally(terms: ApprovalTerms, votes: Sequence[VoteStatement], *, requesters: Collection[str]) -> ApprovalEvent | None:
    """What the votes come to: APPROVE, REJECT, or None while the request stays pending.

    Args:
        terms: what an approval takes.
        votes: verified ones, in any order. Each counts with the roles that stand in it.
        requesters: person ids of everybody who asks: the principal, its ``onBehalfOf`` chain, who started the run.
    """
    eligible = [vote for vote in votes if _ineligible(vote, terms, requesters) is None]
    if any(vote.verdict != "approved" for vote in eligible):
        return ApprovalEvent.REJECT
    for requirement in terms.requirements:
        roles = frozenset(requirement.approver_roles)
        persons = {vote.person_id for vote in eligible if not roles.isdisjoint(vote.roles)}
        if len(persons) < requirement.quorum:
            return None
    return ApprovalEvent.APPROVE


def refuse_vote(
    statement: VoteStatement,
    *,
    terms: ApprovalTerms,
    requesters: Collection[str],
    earlier: Sequence[VoteStatement],
) -> None:
    """Refuse a vote that would count for nothing, so that the voter is told.

    Args:
        statement: the vote that is cast.
        terms: what an approval takes.
        requesters: as for `tally`.
        earlier: the votes that the request has already.

    Raises:
        VoteRefusedError: ``requester_may_not_vote``, ``role_missing``, ``already_voted`` (the same verdict) or
            ``contradicts_earlier_vote`` (another one: nobody takes a vote back).
    """
    code = _ineligible(statement, terms, requesters)
    if code is not None:
        raise VoteRefusedError(code, _PROBLEMS[code])
    verdicts = {vote.verdict for vote in earlier if vote.person_id == statement.person_id}
    if verdicts:
        code = "already_voted" if verdicts == {statement.verdict} else "contradicts_earlier_vote"
        raise VoteRefusedError(code, _PROBLEMS[code])


def _ineligible(vote: VoteStatement, terms: ApprovalTerms, requesters: Collection[str]) -> str | None:
    """Why a vote counts for nothing; None when it counts."""
    if terms.separation_of_duties and vote.person_id in requesters:
        return "requester_may_not_vote"
    if all(frozenset(requirement.approver_roles).isdisjoint(vote.roles) for requirement in terms.requirements):
        return "role_missing"
    return None
