"""Evidence of an approval, as policy sees it in ``input.approval`` on resume (design 3.1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aioc_opa.models.wire import WireModel


class ApprovalVote(WireModel):
    """One person's vote.

    Attributes:
        person_id: who voted.
        roles: the roles that person held when voting.
        verdict: ``approved`` or ``rejected``.
        at: RFC 3339 time.
    """

    person_id: str = Field(min_length=1, max_length=128)
    roles: tuple[str, ...] = Field(strict=False)
    verdict: Literal["approved", "rejected"]
    at: str


class ApprovalEvidence(WireModel):
    """A grant, shown to policy; it never executes anything by itself.

    Attributes:
        id: of the approval.
        proposal_hash: what was approved.
        requested_by: identity of the principal whose call it was.
        votes: every vote that was cast, rejections included.
        expires_at: RFC 3339 time from which it counts for nothing.
        policy_revision: the policy that held the call.
        requesters: ids of the persons who asked for the call (the principal, whom it acts for, who started the run).
            Absent, nothing shows that none of them voted, and separation of duties is not met.
    """

    id: str = Field(min_length=1, max_length=128)
    proposal_hash: str = Field(pattern=r"\A[0-9a-f]{64}\z")
    requested_by: str
    votes: tuple[ApprovalVote, ...] = Field(strict=False)
    expires_at: str
    policy_revision: str
    requesters: tuple[str, ...] | None = Field(default=None, strict=False)
