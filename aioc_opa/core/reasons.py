"""Reason codes that only the runtime may use (design 3.3). A policy that returns one is malformed."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

REASON_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What a policy may use as a code. Match with `fullmatch`; `rego/aioc/lib` has the same pattern."""


class Reason(StrEnum):
    """Reserved reasons."""

    TOOL_NOT_REGISTERED = "tool_not_registered"
    TOOL_NOT_AUTHORIZED = "tool_not_authorized"
    POLICY_INPUT_INVALID = "policy_input_invalid"
    POLICY_UNDEFINED = "policy_undefined"
    POLICY_MALFORMED_DECISION = "policy_malformed_decision"
    POLICY_BINDING_MISMATCH = "policy_binding_mismatch"
    POLICY_EVALUATION_ERROR = "policy_evaluation_error"
    POLICY_UNAVAILABLE = "policy_unavailable"
    POLICY_TIMEOUT = "policy_timeout"
    POLICY_REVISION_REJECTED = "policy_revision_rejected"
    POLICY_MUTATED_ARGUMENTS = "policy_mutated_arguments"
    APPROVAL_TIMED_OUT = "approval_timed_out"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_REVOKED = "approval_revoked"
    APPROVAL_CONSUMED = "approval_consumed"
    APPROVAL_BINDING_MISMATCH = "approval_binding_mismatch"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    CALL_ALREADY_EXECUTED = "call_already_executed"
    BUDGET_EXCEEDED = "budget_exceeded"
    ACCESS_DEADLINE_EXCEEDED = "access_deadline_exceeded"
    PERMIT_INVALID = "permit_invalid"
    AUDIT_UNAVAILABLE = "audit_unavailable"


ALLOWED: Final = "allowed"
"""`reason` of every allow."""

NO_RULE_ALLOWS: Final = "no_rule_allows"
"""`reason` of the deny that no verdict asked for."""

RESERVED: Final = frozenset(Reason)

LIBRARY_CODES: Final = frozenset(
    {"pack_missing", "data_missing", "context_missing", "raw_arguments_required", "malformed_verdict"}
)
"""Codes that the Rego library itself denies tool calls with (`rego/aioc/lib`, and the generated routes)."""

HANDOFF_CODES: Final = frozenset(
    {
        "handoff_denied",
        "handoff_in_table",
        "handoff_needs_approval",
        "handoff_role_missing",
        "handoff_source_not_allowed",
        "handoff_table_invalid",
    }
)
"""Codes of `rego/aioc/handoff_policy`."""
