"""Rules that every store follows, whatever it keeps approvals in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord, EffectOutcome, PendingCaps
    from aioc_opa.models.approval_vote_statement import SignedVote

ENDING_EVENTS: Final = frozenset({ApprovalEvent.EXPIRE, ApprovalEvent.DISMISS, ApprovalEvent.REVOKE})
"""The events of `ApprovalStore.end`."""


REJECTED_BEFORE: Final = "the same call was rejected in this run"
"""The reason of the end of an approval whose hash was rejected in its run through another one."""

ERASED: Final = "its arguments were erased"
"""The reason of the end of an open approval whose arguments somebody had removed."""

_MAX_FOUND: Final = 1 << 31


class UndoneError(Exception):
    """Raised inside a step to roll it back; it never leaves a store."""


def full_cap(caps: PendingCaps, *, run: int, principal: int, tenant: int) -> str | None:
    """The narrowest cap that is reached by so many pending requests; None when there is room for one more."""
    if run >= caps.per_run:
        return "run"
    if principal >= caps.per_principal:
        return "principal"
    return "tenant" if tenant >= caps.per_tenant else None


def bounded(limit: int) -> int:
    """`limit` as every database takes it: a list has no negative length, and no more than 2^31 entries."""
    return max(0, min(limit, _MAX_FOUND))


def with_vote(record: ApprovalRecord, vote: SignedVote) -> ApprovalRecord:
    """`record` as it would be with `vote` in it."""
    return replace(record, votes=(*record.votes, vote))


def is_final(outcome: EffectOutcome) -> bool:
    """Whether `outcome` is known: it then replaces ``unknown``, and nothing replaces it."""
    return outcome != "unknown"


def require_texts(*texts: str | None) -> None:
    """Refuse what PostgreSQL or UTF-8 cannot hold, on every store alike.

    Raises:
        ApprovalStoreError: a text has U+0000 or half of a surrogate pair.
    """
    for text in texts:
        if text is not None and ("\0" in text or any("\ud800" <= character <= "\udfff" for character in text)):
            raise ApprovalStoreError("a text with U+0000 or a lone surrogate cannot be stored")
