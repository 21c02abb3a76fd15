"""What waits for a person: proposals made from an attempt that policy holds (RFC-0015; design 3.5)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal

if TYPE_CHECKING:
    from aioc_opa.call_request import Surroundings
    from aioc_opa.core.preparation import PreparedCall, PreparedHandoff
    from aioc_opa.models.decision import PolicyDecision
    from aioc_opa.models.outcome import Question
    from aioc_opa.tool_registry import RegisteredTool


def suspended_tool_proposal(
    *,
    tool: RegisteredTool,
    prepared: PreparedCall,
    surroundings: Surroundings,
    question: Question,
    decision: PolicyDecision,
    policy_revision: str | None,
) -> SuspendedToolProposal:
    """The proposal for a held tool call. Shares no mutable part with the judged object."""
    return SuspendedToolProposal(
        **_base(surroundings, question, decision, policy_revision),
        tool_name=tool.name,
        tool_version=tool.version,
        raw_arguments=prepared.raw_arguments,
        requested_arguments=prepared.requested_arguments,
        parsed_arguments=json.loads(prepared.args_canonical_json),
        args_canonical_json=prepared.args_canonical_json,
    )


def suspended_handoff_proposal(
    *,
    to_agent_name: str,
    prepared: PreparedHandoff,
    surroundings: Surroundings,
    question: Question,
    decision: PolicyDecision,
    policy_revision: str | None,
) -> SuspendedHandoffProposal:
    """The proposal for a held handoff."""
    return SuspendedHandoffProposal(
        **_base(surroundings, question, decision, policy_revision),
        to_agent_name=to_agent_name,
        handoff_payload=json.loads(prepared.payload_canonical_json),
        payload_canonical_json=prepared.payload_canonical_json,
    )


def _base(
    surroundings: Surroundings, question: Question, decision: PolicyDecision, policy_revision: str | None
) -> dict[str, Any]:
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run_id": surroundings.run_id,
        "turn": surroundings.turn,
        "call_id": surroundings.call_id,
        "agent_name": surroundings.agent_name,
        "proposal_hash": question.proposal_hash,
        "reason": decision.reason,
        "reasons": decision.reasons,
        "public_reason": decision.public_reason,
        "policy_version": decision.policy_version,
        "policy_revision": policy_revision,
        "expires_at": decision.expires_at,
        "approval": decision.approval,
        "metadata": decision.metadata,
    }
