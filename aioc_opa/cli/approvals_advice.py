"""What an operator can do when `approvals resume` is refused, by the code that the audit log has."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACCESS: Final = (
    "the guard's access gate does not let this principal use the tool now: check its allow-list and capability (a gate "
    "with capabilities needs Resumption(capability=…), and provider= and model= where the call had them)"
)
_ENDED: Final = "it lets nothing run any more; if the call is still wanted, let it be proposed again"

ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        Reason.TOOL_NOT_AUTHORIZED: f"either the guard of --app has no such tool registered, or {_ACCESS}",
        Reason.TOOL_NOT_REGISTERED: "the guard of --app has no tool of this name; register it before it is returned",
        Reason.BUDGET_EXCEEDED: "the run has no calls or cost units left in the gate's budget",
        Reason.ACCESS_DEADLINE_EXCEEDED: "the access gate's adapter did not answer in time; try again",
        Reason.APPROVAL_BINDING_MISMATCH: (
            "something that the approval is bound to is another now. In the Resumption: the principal (identity, "
            "tenant, onBehalfOf), or a run_context of another run (its run_id must be the call's, or none). In the "
            "deployment: the tool's version, description or schema, the policy revision, what policy asks for, or a "
            "vote whose key or role is gone. Give what the call was held with, or let it be proposed again"
        ),
        Reason.APPROVAL_CONSUMED: f"it was used up; see `approvals recover` for how that ended. {_ENDED.capitalize()}",
        Reason.APPROVAL_EXPIRED: _ENDED,
        Reason.APPROVAL_REJECTED: "somebody who may vote rejected this call; it stays denied for the rest of its run",
        Reason.APPROVAL_REVOKED: _ENDED,
        Reason.APPROVAL_UNAVAILABLE: (
            "it cannot be used: dismissed, its arguments removed, encrypted with a key that the guard of --app does "
            "not have, of another tenant than the principal's, or the guard's store or directory of people fails"
        ),
        Reason.CALL_ALREADY_EXECUTED: (
            "the tool is marked once, and ran for this call of this run; a new call needs a call_id of its own"
        ),
        Reason.AUDIT_UNAVAILABLE: "the guard's required audit trail cannot be written; nothing runs until it can",
        Reason.POLICY_REVISION_REJECTED: "the guard's revision gate does not take the policy that is in force",
        Reason.POLICY_UNAVAILABLE: "the policy engine cannot be reached; try again when it can",
        Reason.POLICY_TIMEOUT: "the policy engine did not answer in time; try again",
    }
)
"""By code; a code of policy's own is not in it: that policy denies now is its answer."""
