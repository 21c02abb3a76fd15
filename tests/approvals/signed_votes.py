"""A vote that is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.approvals.votes import sign_vote
from tests.approvals.vote_cases import (
    AUTHORITY,
    BOB,
    CREATED,
    request,
)  # fmt: skip

if TYPE_CHECKING:
    from aioc_opa.approvals.people import Person
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.models.approval_vote_statement import SignedVote


def signed(record: ApprovalRecord | None = None, person: Person = BOB, **changes: Any) -> SignedVote:
    values = {"verdict": "approved", "reason": "seen", "key": AUTHORITY, "at_ms": CREATED + 5, **changes}
    return sign_vote(record or request(), person, **values)
