"""`SuspendedToolProposal`: a call that waits for a person (RFC-0015 "Proposal Hash And Approval"; design 3.5)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.decision import ApprovalTerms
from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel


class SuspendedProposalBase(WireModel):
    """What tool and handoff proposals share.

    Attributes:
        timestamp: when it was suspended, RFC 3339 in UTC.
        run_id: given by the application, else made by the guard.
        call_id: likewise; never a key by itself.
        approval: what an approval takes.
        policy_revision: the revision that held the call.
    """

    timestamp: str
    run_id: str
    turn: int = Field(ge=0)
    call_id: str
    agent_name: str
    proposal_hash: str = Field(pattern=HASH_PATTERN)
    reason: str
    reasons: tuple[str, ...] = Field(strict=False)
    public_reason: str | None = None
    policy_version: str | None = None
    policy_revision: str | None = None
    expires_at: str | None = None
    approval: ApprovalTerms
    metadata: dict[str, Any] | None = None


class SuspendedToolProposal(SuspendedProposalBase):
    """A held tool call.

    Attributes:
        parsed_arguments: the action being approved (canonical value).
        requested_arguments: diagnostic evidence of what the model asked for.
    """

    kind: Literal["tool"] = "tool"
    tool_name: str
    tool_version: str | None = None
    raw_arguments: str
    requested_arguments: dict[str, Any] | None = None
    parsed_arguments: Any
    args_canonical_json: str


class SuspendedHandoffProposal(SuspendedProposalBase):
    """A held handoff; `agent_name` is the agent that hands over."""

    kind: Literal["handoff"] = "handoff"
    to_agent_name: str
    handoff_payload: dict[str, Any]
    payload_canonical_json: str
