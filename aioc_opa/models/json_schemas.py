"""JSON Schemas (2020-12) of the public contracts, made from the wire models: what ``schemas/`` holds (design 3).

`opa check --schema schemas/` reads them: with closed objects, a rule that reads ``input.tolName`` fails to compile
(https://www.openpolicyagent.org/docs/schemas). ``parsedArguments`` and ``runContext.context`` stay open there; they are
the tool's and the application's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aioc_opa.models.audit_event import AuditEvent
from aioc_opa.models.audit_record import AuditRecord
from aioc_opa.models.decision import PolicyDecision
from aioc_opa.models.handoff_policy_input import HandoffPolicyInput
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal
from aioc_opa.models.tool_access import ToolAccessDecision, ToolAccessInput
from aioc_opa.models.tool_policy_input import ToolPolicyInput

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.models.wire import WireModel

CONTRACTS: Final[dict[str, type[WireModel]]] = {
    "tool_policy_input": ToolPolicyInput,
    "handoff_policy_input": HandoffPolicyInput,
    "decision": PolicyDecision,
    "tool_access_input": ToolAccessInput,
    "tool_access_decision": ToolAccessDecision,
    "suspended_tool_proposal": SuspendedToolProposal,
    "suspended_handoff_proposal": SuspendedHandoffProposal,
    "refusal_result": RefusalResult,
    "audit_event": AuditEvent,
    "audit_record": AuditRecord,
}
"""Name of the schema file, and of the schema in Rego annotations, to the model."""


def contract_schemas() -> dict[str, JsonObject]:
    """The schema of each contract, by its name."""
    return {name: _schema(name, model) for name, model in CONTRACTS.items()}


def _schema(name: str, model: type[WireModel]) -> JsonObject:
    body = _plain(model.model_json_schema(by_alias=True, mode="validation"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"{name}: made from aioc_opa.models by scripts/generate-schemas; do not edit",
        **body,
    }


def _plain(node: Any) -> Any:
    """What stands on the wire: an optional field is absent, never null; patterns are those of ECMA 262."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _plain(value) for key, value in node.items() if not (key == "default" and value is None)}
    if isinstance(plain.get("title"), str):  # pydantic's: the Python name once more
        del plain["title"]
    if isinstance(description := plain.get("description"), str):
        plain["description"] = description.partition("\n\n")[0]
    alternatives = plain.get("anyOf")
    if isinstance(alternatives, list) and {"type": "null"} in alternatives:
        kept = [item for item in alternatives if item != {"type": "null"}]
        plain.pop("anyOf")
        plain = {**plain, **(kept[0] if len(kept) == 1 else {"anyOf": kept})}
    pattern = plain.get("pattern")
    if isinstance(pattern, str):
        plain["pattern"] = pattern.replace(r"\A", "^").replace(r"\z", "$")
    return plain
