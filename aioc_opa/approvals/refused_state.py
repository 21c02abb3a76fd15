"""Why an approval in some state lets nothing run: from the state to a reserved reason (design 3.3)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_STATE: Final[Mapping[ApprovalState, Reason]] = MappingProxyType(
    {
        ApprovalState.REJECTED: Reason.APPROVAL_REJECTED,
        ApprovalState.EXPIRED: Reason.APPROVAL_EXPIRED,
        ApprovalState.REVOKED: Reason.APPROVAL_REVOKED,
        # Refused in this state, it was used up: a row that says `approved` has its consumption record.
        ApprovalState.APPROVED: Reason.APPROVAL_CONSUMED,
        ApprovalState.CONSUMED: Reason.APPROVAL_CONSUMED,
        ApprovalState.COMPLETED: Reason.APPROVAL_CONSUMED,
        ApprovalState.OUTCOME_UNKNOWN: Reason.APPROVAL_CONSUMED,
    }
)


def reason_of_state(state: ApprovalState) -> Reason:
    """The reason why nothing runs: a dismissed or still pending approval is simply not there to be used."""
    return _OF_STATE.get(state, Reason.APPROVAL_UNAVAILABLE)
