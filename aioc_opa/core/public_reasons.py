"""What a model or a user may read about a refusal when policy gives no sentence of its own (design 3.3).

Fixed sentences only: an engine's error text can hold argument values. Unknown and forbidden tools look alike.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

DENIED: Final = "This call is not allowed by policy."
APPROVAL_REQUIRED: Final = "A person has to approve this call before it can run."
_NOT_AUTHORIZED: Final = "This tool is not available."
_UNDECIDED: Final = "This call could not be authorized, so it was not run."

PUBLIC_REASONS: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.TOOL_NOT_REGISTERED: _NOT_AUTHORIZED,
        Reason.TOOL_NOT_AUTHORIZED: _NOT_AUTHORIZED,
        Reason.POLICY_MUTATED_ARGUMENTS: "The arguments changed while the call was being judged, so it was not run.",
        Reason.APPROVAL_TIMED_OUT: "Nobody decided about this call in time, so it was not run.",
        Reason.APPROVAL_REJECTED: "A person rejected this call.",
        Reason.APPROVAL_EXPIRED: "The approval of this call has expired, so it was not run.",
        Reason.APPROVAL_REVOKED: "The approval of this call was taken back.",
        Reason.APPROVAL_CONSUMED: "The approval of this call has been used already.",
        Reason.APPROVAL_BINDING_MISMATCH: "This is not the call that was approved, so it was not run.",
        Reason.APPROVAL_UNAVAILABLE: "This call cannot be approved now, so it was not run.",
        Reason.CALL_ALREADY_EXECUTED: "This call has been carried out already; it was not run again.",
        Reason.PERMIT_INVALID: "This permission cannot be used, so the call was not run.",
    }
)


def public_reason(reason: Reason) -> str:
    """The fixed sentence for a reserved reason."""
    return PUBLIC_REASONS.get(reason, _UNDECIDED)
