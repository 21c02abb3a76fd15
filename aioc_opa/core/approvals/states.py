"""The life of an approval as a table: what is not in it is refused (design 3.5)."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class ApprovalState(StrEnum):
    """Where an approval is."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    DISMISSED = "dismissed"
    REVOKED = "revoked"
    CONSUMED = "consumed"
    """The effect may have begun, and its end is not known yet."""
    COMPLETED = "completed"
    OUTCOME_UNKNOWN = "outcome_unknown"


class ApprovalEvent(StrEnum):
    """What can happen to an approval."""

    APPROVE = "approve"
    """The votes meet every requirement."""
    REJECT = "reject"
    EXPIRE = "expire"
    DISMISS = "dismiss"
    """Nobody needs it any more: the waiting call was cancelled, or an operator says so."""
    REVOKE = "revoke"
    CONSUME = "consume"
    """The one use, just before the effect."""
    COMPLETE = "complete"
    LOSE = "lose"
    """Nobody can say whether the effect happened."""


_S = ApprovalState
_E = ApprovalEvent

TRANSITIONS: Final[Mapping[tuple[ApprovalState, ApprovalEvent], ApprovalState]] = MappingProxyType(
    {
        (_S.PENDING, _E.APPROVE): _S.APPROVED,
        (_S.PENDING, _E.REJECT): _S.REJECTED,
        (_S.PENDING, _E.EXPIRE): _S.EXPIRED,
        (_S.PENDING, _E.DISMISS): _S.DISMISSED,
        (_S.APPROVED, _E.EXPIRE): _S.EXPIRED,
        (_S.APPROVED, _E.DISMISS): _S.DISMISSED,
        (_S.APPROVED, _E.REVOKE): _S.REVOKED,
        (_S.APPROVED, _E.CONSUME): _S.CONSUMED,
        (_S.CONSUMED, _E.COMPLETE): _S.COMPLETED,
        (_S.CONSUMED, _E.LOSE): _S.OUTCOME_UNKNOWN,
        # A handler that everybody had given up on ends after all, or an operator finds out.
        (_S.OUTCOME_UNKNOWN, _E.COMPLETE): _S.COMPLETED,
    }
)

OPEN: Final = frozenset({_S.PENDING, _S.APPROVED})
"""The states in which an approval can still lead to an effect. Only these expire."""


def next_state(state: ApprovalState, event: ApprovalEvent) -> ApprovalState | None:
    """The state after `event`; None when the event is refused in `state`."""
    return TRANSITIONS.get((state, event))
