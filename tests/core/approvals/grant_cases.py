"""Grant records and proposals of the TypeScript runtime's shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms
from aioc_opa.models.suspended_proposal import SuspendedToolProposal

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
NOW = datetime(2026, 5, 22, 10, 0, tzinfo=UTC)
TERMS = ApprovalTerms(
    requirements=(ApprovalRequirement(code="export", approver_roles=("lead",), quorum=1),),
    separation_of_duties=True,
    ttl_seconds=60,
)
BASE: dict[str, Any] = {
    "timestamp": "2026-05-22T09:59:00.000Z",
    "run_id": "run-1",
    "turn": 1,
    "call_id": "call-1",
    "agent_name": "Finance Agent",
    "proposal_hash": ONE,
    "reason": "approval_export_report",
    "reasons": ("approval_export_report",),
    "approval": TERMS,
}


def grant(proposal_hash: str = ONE, approved_at: str = "2026-05-22T09:00:00.000Z", **more: Any) -> dict[str, Any]:
    return {"proposalHash": proposal_hash, "approvedAt": approved_at, **more}


def tool_proposal(**changes: Any) -> SuspendedToolProposal:
    values = {
        **BASE,
        "public_reason": "Sensitive report exports require explicit approval.",
        "policy_version": "finance-export-policy.v1",
        "expires_at": "2026-05-22T11:00:00.000Z",
        "metadata": {"sensitivity": "high"},
        "tool_name": "export_report",
        "raw_arguments": '{"reportId": "rpt-1"}',
        "parsed_arguments": {"reportId": "rpt-1"},
        "args_canonical_json": '{"reportId":"rpt-1"}',
        **changes,
    }
    return SuspendedToolProposal(**values)
