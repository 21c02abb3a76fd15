"""`ToolPolicyInput`: what OPA sees as ``input`` for a tool call (RFC-0015 "Argument Views"; design 3.1)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.approval_evidence import ApprovalEvidence
from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.wire import WireModel

HASH_PATTERN = r"\A[0-9a-f]{64}\z"


class ToolPolicyInput(WireModel):
    """RFC-0015's three argument views and their fingerprint, with additive fields.

    Attributes:
        raw_arguments: the exact provider string.
        requested_arguments: the strict JSON decode of it; diagnostic.
        parsed_arguments: the canonical value of the schema's output: the authorization and execution payload.
        args_canonical_json: RFC 8785 text of `parsed_arguments`.
        proposal_hash: lower-case hex SHA-256, see `aioc_opa.core.fingerprint`.
        request_id: random, one a question; the decision echoes it.
        decode_assurance: ``raw`` when the provider's string was decoded here; ``decoded`` when a framework handed
            over an object, so that duplicate keys may already be lost.
        approval: evidence, on resume only.
    """

    contract_version: Literal["1"] = "1"
    kind: Literal["tool"] = "tool"
    request_id: str = Field(min_length=1, max_length=128)
    agent_name: str = Field(min_length=1, max_length=256)
    tool_name: str = Field(min_length=1, max_length=128)
    tool_version: str | None = Field(default=None, min_length=1, max_length=32)
    call_id: str | None = Field(default=None, min_length=1, max_length=256)
    raw_arguments: str
    requested_arguments: dict[str, Any] | None = None
    parsed_arguments: Any
    args_canonical_json: str
    proposal_hash: str = Field(pattern=HASH_PATTERN)
    run_context: RunContext
    turn: int = Field(ge=0)
    principal: Principal | None = None
    decode_assurance: Literal["raw", "decoded"]
    approval: ApprovalEvidence | None = None
