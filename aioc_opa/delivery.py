"""How a refusal reaches the caller: raised, or returned as a value (design 3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.errors import (
    AiocOpaError,
    HandoffApprovalRequiredError,
    HandoffPolicyDeniedError,
    ToolCallApprovalRequiredError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
    ToolOutcomeUnknownError,
)
from aioc_opa.models.outcome import Denied, HandoffDenied, HandoffSuspended, Suspended
from aioc_opa.models.refusal_result import RefusalResult

if TYPE_CHECKING:
    from aioc_opa.guard_settings import ResultMode
    from aioc_opa.models.outcome import Outcome


def deliver(refusal: Denied | Suspended | HandoffDenied | HandoffSuspended, mode: ResultMode) -> RefusalResult:
    """Raise the refusal, or give it as a value.

    Args:
        refusal: an outcome that is not an allow.
        mode: the guard's delivery mode; the policy's ``resultMode`` overrides it.

    Raises:
        PolicyRefusalError: in mode ``throw``, the leaf that fits.
    """
    if _mode(refusal, mode) == "tool_result":
        return _as_value(refusal)
    if isinstance(refusal, Denied):
        raise ToolCallPolicyDeniedError(refusal)
    if isinstance(refusal, Suspended):
        raise ToolCallApprovalRequiredError(refusal)
    if isinstance(refusal, HandoffDenied):
        raise HandoffPolicyDeniedError(refusal)
    raise HandoffApprovalRequiredError(refusal)


def escaped_from_handler(error: AiocOpaError, tool_name: str) -> ToolExecutionError:
    """An error of our tree that a handler raised, taken out of the tree: its effect may have happened."""
    return ToolExecutionError(
        f"the handler of {tool_name!r} was entered and raised {type(error).__name__}: "
        "its effect may have happened, so do not simply retry it"
    )


def outcome_unknown(tool_name: str) -> ToolOutcomeUnknownError:
    """A handler that did not end within its deadline: neither a denial nor a failure."""
    return ToolOutcomeUnknownError(
        f"the handler of {tool_name!r} was entered and did not end within its deadline: "
        "its effect may have happened or may still happen, so do not simply retry it"
    )


def _mode(refusal: Outcome, mode: ResultMode) -> ResultMode:
    if refusal.decision is None or refusal.decision.result_mode is None:
        return mode
    return refusal.decision.result_mode


def _as_value(refusal: Denied | Suspended | HandoffDenied | HandoffSuspended) -> RefusalResult:
    if isinstance(refusal, Denied | HandoffDenied):
        return RefusalResult(status="denied", code=refusal.code, public_reason=refusal.public_reason)
    proposal = refusal.proposal
    data: dict[str, Any] = {"runId": proposal.run_id, "callId": proposal.call_id}
    if isinstance(refusal, Suspended) and refusal.approval_id is not None:
        data["approvalId"] = refusal.approval_id
    if proposal.expires_at is not None:
        data["expiresAt"] = proposal.expires_at
    return RefusalResult(status="approval_required", code=refusal.code, public_reason=refusal.public_reason, data=data)
