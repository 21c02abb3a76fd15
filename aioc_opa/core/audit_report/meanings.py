"""What the runtime's own reasons say, for people who read a report. A missing one is an error of a test."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNTIME_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Reason.TOOL_NOT_REGISTERED: "no tool of this name is registered",
        Reason.TOOL_NOT_AUTHORIZED: "this principal may not use this tool",
        Reason.POLICY_INPUT_INVALID: "context or principal could not be put to policy",
        Reason.POLICY_UNDEFINED: "policy had no answer: a wrong path, or no bundle yet",
        Reason.POLICY_MALFORMED_DECISION: "policy's answer was not a decision",
        Reason.POLICY_BINDING_MISMATCH: "policy's answer was to another question",
        Reason.POLICY_EVALUATION_ERROR: "evaluating policy failed",
        Reason.POLICY_UNAVAILABLE: "policy could not be reached",
        Reason.POLICY_TIMEOUT: "policy did not answer in time",
        Reason.POLICY_REVISION_REJECTED: "the policy in force is not one that the guard accepts",
        Reason.POLICY_MUTATED_ARGUMENTS: "the arguments changed while they were judged",
        Reason.APPROVAL_TIMED_OUT: "nobody decided in time",
        Reason.APPROVAL_REJECTED: "a person had rejected it",
        Reason.APPROVAL_EXPIRED: "the approval had expired",
        Reason.APPROVAL_REVOKED: "the approval had been taken back",
        Reason.APPROVAL_CONSUMED: "the approval had been used",
        Reason.APPROVAL_BINDING_MISMATCH: "the approval was of something else, or its votes did not verify",
        Reason.APPROVAL_UNAVAILABLE: "approvals could not be used",
        Reason.CALL_ALREADY_EXECUTED: "the call had been carried out before",
        Reason.BUDGET_EXCEEDED: "a budget was used up",
        Reason.ACCESS_DEADLINE_EXCEEDED: "who may use the tool was not known in time",
        Reason.PERMIT_INVALID: "a permit was used, late or another guard's",
        Reason.AUDIT_UNAVAILABLE: "a required audit record could not be written",
    }
)
"""By reserved reason."""

UNDECIDED: Final = frozenset(
    {
        Reason.POLICY_INPUT_INVALID,
        Reason.POLICY_UNDEFINED,
        Reason.POLICY_MALFORMED_DECISION,
        Reason.POLICY_BINDING_MISMATCH,
        Reason.POLICY_EVALUATION_ERROR,
        Reason.POLICY_UNAVAILABLE,
        Reason.POLICY_TIMEOUT,
        Reason.POLICY_REVISION_REJECTED,
        Reason.ACCESS_DEADLINE_EXCEEDED,
        Reason.APPROVAL_UNAVAILABLE,
        Reason.AUDIT_UNAVAILABLE,
    }
)
"""Something did not work; all others refuse although everything works."""
