"""What exactly refused, for operators and the audit: stable codes. A caller never sees them (design 2, step 1)."""

from __future__ import annotations

from enum import StrEnum


class Detail(StrEnum):
    """Codes of the gate itself. Beside them an adapter's own code, or the reserved reason why it had no answer."""

    QUESTION_INVALID = "question_invalid"
    TOOL_NOT_REGISTERED = "tool_not_registered"
    IDENTITY_MISSING = "identity_missing"
    DIRECTORY_FAILED = "directory_failed"
    CAPABILITY_MISSING = "capability_missing"
    CAPABILITY_UNKNOWN = "capability_unknown"
    CAPABILITY_NOT_GRANTED = "capability_not_granted"
    TOOL_NOT_IN_CAPABILITY = "tool_not_in_capability"
    TOOL_NOT_IN_ALLOW_LIST = "tool_not_in_allow_list"
    TOOL_NOT_IN_LEGACY_TOOLS = "tool_not_in_legacy_tools"
    ADAPTER_FAILED = "adapter_failed"
    ADAPTER_MALFORMED = "adapter_malformed"
    ADAPTER_BUSY = "adapter_busy"
    ADAPTER_NOT_USABLE = "adapter_not_usable"
    DEADLINE = "deadline"
    RUN_ID_MISSING = "run_id_missing"
    CALLS_PER_RUN = "calls_per_run"
    COST_PER_RUN = "cost_per_run"
    COST_PER_IDENTITY = "cost_per_identity"
    BUDGET_UNAVAILABLE = "budget_unavailable"
    APPROVAL_NOT_CONFIGURED = "approval_not_configured"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_FAILED = "approval_failed"
    APPROVAL_MALFORMED = "approval_malformed"
    CANCELLED = "cancelled"
    INTERNAL_ERROR = "internal_error"
