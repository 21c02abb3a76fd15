"""What OPA sees as ``input`` when one agent hands over to another (design 3.1)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel


class HandoffPolicyInput(WireModel):
    """A handoff: strict JSON like a tool call, its own fingerprint and policy path, no schema (RFC-0015).

    Attributes:
        handoff_payload: the strict JSON decode of the provider's string.
        payload_canonical_json: RFC 8785 text of it.
    """

    contract_version: Literal["1"] = "1"
    kind: Literal["handoff"] = "handoff"
    request_id: str = Field(min_length=1, max_length=128)
    from_agent_name: str = Field(min_length=1, max_length=256)
    to_agent_name: str = Field(min_length=1, max_length=256)
    handoff_payload: dict[str, Any]
    payload_canonical_json: str
    proposal_hash: str = Field(pattern=HASH_PATTERN)
    run_context: RunContext
    turn: int = Field(ge=0)
    principal: Principal | None = None
