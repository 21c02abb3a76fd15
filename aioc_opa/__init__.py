"""Authorization for the tool calls of AI agents, decided by OPA and bound by hash to what is executed."""

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.local_opa_signature import BundleVerification
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.engines.opa_server_async import AsyncOpaServerEngine
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import (
    AiocOpaError,
    ArgumentIssue,
    ConfigurationError,
    EngineConfigurationError,
    GuardCheckError,
    HandoffApprovalRequiredError,
    HandoffPolicyDeniedError,
    InputFileError,
    PolicyLoadError,
    PolicyRefusalError,
    ToolArgumentsValidationError,
    ToolCallApprovalRequiredError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
    ToolRegistrationError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.guarded_tool import GuardedTool
from aioc_opa.models.handoff_policy_input import HandoffPolicyInput
from aioc_opa.models.invocation import Invocation
from aioc_opa.models.outcome import (
    Allowed,
    Denied,
    HandoffAllowed,
    HandoffDenied,
    HandoffSuspended,
    Suspended,
)
from aioc_opa.models.principal import Principal
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal
from aioc_opa.models.tool_policy_input import ToolPolicyInput
from aioc_opa.permit import Permit
from aioc_opa.revision_gate import RevisionGate, UnsafeAnyRevision, UnsafeAnyRevisionWarning
from aioc_opa.tool_lists import ToolDefinition, read_tool_list

__all__ = [
    "AiocOpaError",
    "Allowed",
    "ArgumentIssue",
    "AsyncOpaServerEngine",
    "AsyncToolGuard",
    "BundleVerification",
    "ConfigurationError",
    "DecisionPath",
    "Denied",
    "EmbeddedEngine",
    "EngineConfigurationError",
    "GuardCheckError",
    "GuardedTool",
    "HandoffAllowed",
    "HandoffApprovalRequiredError",
    "HandoffDenied",
    "HandoffPolicyDeniedError",
    "HandoffPolicyInput",
    "HandoffSuspended",
    "InputFileError",
    "Invocation",
    "JsonLimits",
    "LocalOpaEngine",
    "OpaServerEngine",
    "Permit",
    "PolicyLoadError",
    "PolicyRefusalError",
    "Principal",
    "Reason",
    "RefusalResult",
    "RevisionGate",
    "RunContext",
    "Suspended",
    "SuspendedHandoffProposal",
    "SuspendedToolProposal",
    "ToolArgumentsValidationError",
    "ToolCallApprovalRequiredError",
    "ToolCallPolicyDeniedError",
    "ToolDefinition",
    "ToolExecutionError",
    "ToolGuard",
    "ToolPolicyInput",
    "ToolRegistrationError",
    "UnsafeAnyRevision",
    "UnsafeAnyRevisionWarning",
    "read_tool_list",
]
