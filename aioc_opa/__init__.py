"""Authorization for the tool calls of AI agents, decided by OPA and bound by hash to what is executed.

What a guard needs is imported with the package. The names of `_LAZY` are imported when they are first asked for (PEP
562), so that `import aioc_opa` loads nothing that an extra brings. No name here needs an extra to be imported: what
needs one says which when it is used. (`aioc_opa.telemetry.otel` needs its extra at once, and so is not here.)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
    ApprovalError,
    ApprovalNotFoundError,
    ApprovalStoreError,
    ArgumentIssue,
    AuditLogError,
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
    ToolOutcomeUnknownError,
    ToolRegistrationError,
    VoteRefusedError,
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

if TYPE_CHECKING:
    from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
    from aioc_opa.access.gate import AccessGate
    from aioc_opa.access.identities import IdentityBinding, IdentityBindings
    from aioc_opa.access.in_process_approvals import InProcessApprovals
    from aioc_opa.access.opa_adapter import AsyncOpaToolPolicy, OpaToolPolicy
    from aioc_opa.access.sql_budgets import SqlBudgetLedger
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.keys import SigningKey, VoteKeys, development_keys
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.people import PeopleFile, Person
    from aioc_opa.approvals.records import PendingCaps
    from aioc_opa.approvals.resumption import Resumption
    from aioc_opa.approvals.stores import open_store
    from aioc_opa.approvals.webhook import WebhookNotifier
    from aioc_opa.audit.arguments import ArgumentVault
    from aioc_opa.audit.json_lines import JsonLinesSink
    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.audit.sql import SqlSink
    from aioc_opa.audit.trail import AuditTrail
    from aioc_opa.bundle_expiry import UnexpiredRevisions
    from aioc_opa.bundle_freshness import FreshBundles
    from aioc_opa.engines.opa_admin import OpaAdmin
    from aioc_opa.packs.declared_codes import declared_codes
    from aioc_opa.packs.policy_folder import load_policy
    from aioc_opa.revision_gates import AllOf, MinimumCounters, NamedRevisions

__all__ = [
    "AccessGate",
    "AiocOpaError",
    "AllOf",
    "Allowed",
    "ApprovalBroker",
    "ApprovalError",
    "ApprovalNotFoundError",
    "ApprovalStoreError",
    "ArgumentIssue",
    "ArgumentVault",
    "AsyncOpaServerEngine",
    "AsyncOpaToolPolicy",
    "AsyncToolGuard",
    "AuditKey",
    "AuditLogError",
    "AuditTrail",
    "BudgetLimits",
    "Budgets",
    "BundleVerification",
    "ConfigurationError",
    "DecisionPath",
    "Denied",
    "EmbeddedEngine",
    "EngineConfigurationError",
    "FreshBundles",
    "GuardCheckError",
    "GuardedTool",
    "HandoffAllowed",
    "HandoffApprovalRequiredError",
    "HandoffDenied",
    "HandoffPolicyDeniedError",
    "HandoffPolicyInput",
    "HandoffSuspended",
    "IdentityBinding",
    "IdentityBindings",
    "InProcessApprovals",
    "InputFileError",
    "Invocation",
    "JsonLimits",
    "JsonLinesSink",
    "LocalOpaEngine",
    "MemoryBudgetLedger",
    "MinimumCounters",
    "NamedRevisions",
    "OpaAdmin",
    "OpaServerEngine",
    "OpaToolPolicy",
    "PayloadCipher",
    "PendingCaps",
    "PeopleFile",
    "Permit",
    "Person",
    "PolicyLoadError",
    "PolicyRefusalError",
    "Principal",
    "Reason",
    "RefusalResult",
    "Resumption",
    "RevisionGate",
    "RunContext",
    "SigningKey",
    "SqlBudgetLedger",
    "SqlSink",
    "Suspended",
    "SuspendedHandoffProposal",
    "SuspendedToolProposal",
    "ToolArgumentsValidationError",
    "ToolCallApprovalRequiredError",
    "ToolCallPolicyDeniedError",
    "ToolDefinition",
    "ToolExecutionError",
    "ToolGuard",
    "ToolOutcomeUnknownError",
    "ToolPolicyInput",
    "ToolRegistrationError",
    "UnexpiredRevisions",
    "UnsafeAnyRevision",
    "UnsafeAnyRevisionWarning",
    "VoteKeys",
    "VoteRefusedError",
    "WebhookNotifier",
    "declared_codes",
    "development_keys",
    "load_policy",
    "open_store",
    "read_tool_list",
]

_LAZY: Final = {
    "AccessGate": "aioc_opa.access.gate",
    "AllOf": "aioc_opa.revision_gates",
    "ApprovalBroker": "aioc_opa.approvals.broker",
    "ArgumentVault": "aioc_opa.audit.arguments",
    "AsyncOpaToolPolicy": "aioc_opa.access.opa_adapter",
    "AuditKey": "aioc_opa.audit.keys",
    "AuditTrail": "aioc_opa.audit.trail",
    "BudgetLimits": "aioc_opa.access.budgets",
    "Budgets": "aioc_opa.access.budgets",
    "FreshBundles": "aioc_opa.bundle_freshness",
    "IdentityBinding": "aioc_opa.access.identities",
    "IdentityBindings": "aioc_opa.access.identities",
    "InProcessApprovals": "aioc_opa.access.in_process_approvals",
    "JsonLinesSink": "aioc_opa.audit.json_lines",
    "MemoryBudgetLedger": "aioc_opa.access.budgets",
    "MinimumCounters": "aioc_opa.revision_gates",
    "NamedRevisions": "aioc_opa.revision_gates",
    "OpaAdmin": "aioc_opa.engines.opa_admin",
    "OpaToolPolicy": "aioc_opa.access.opa_adapter",
    "PayloadCipher": "aioc_opa.approvals.payload_cipher",
    "PendingCaps": "aioc_opa.approvals.records",
    "PeopleFile": "aioc_opa.approvals.people",
    "Person": "aioc_opa.approvals.people",
    "Resumption": "aioc_opa.approvals.resumption",
    "SigningKey": "aioc_opa.approvals.keys",
    "SqlBudgetLedger": "aioc_opa.access.sql_budgets",
    "SqlSink": "aioc_opa.audit.sql",
    "UnexpiredRevisions": "aioc_opa.bundle_expiry",
    "VoteKeys": "aioc_opa.approvals.keys",
    "WebhookNotifier": "aioc_opa.approvals.webhook",
    "declared_codes": "aioc_opa.packs.declared_codes",
    "development_keys": "aioc_opa.approvals.keys",
    "load_policy": "aioc_opa.packs.policy_folder",
    "open_store": "aioc_opa.approvals.stores",
}


def __getattr__(name: str) -> Any:
    """Import `name` when it is first asked for.

    Raises:
        AttributeError: there is no such name.
    """
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every name, whether it has been asked for or not."""
    return sorted({*globals(), *__all__})
