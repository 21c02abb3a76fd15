"""Approvals and notices for tests."""

from __future__ import annotations

import json
from typing import Any

from aioc_opa.approvals.records import ApprovalRecord
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_notice import ApprovalNotice
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms

CANARY = "canary-7f3a9c"
ARGUMENTS = json.dumps({"account": CANARY})


def record(**changes: Any) -> ApprovalRecord:
    terms = ApprovalTerms(
        requirements=(
            ApprovalRequirement(code="large_refund", approver_roles=("treasury", "lead"), quorum=1),
            ApprovalRequirement(code="new_payee", approver_roles=("lead",), quorum=2),
        ),
        separation_of_duties=True,
        ttl_seconds=600,
    )
    bindings = ApprovalBindings(
        proposal_hash="a" * 64,
        run_id="run-1",
        call_id="call-1",
        agent_name="Support",
        tool_name="refund",
        tool_digest="b" * 64,
        tenant="acme",
        policy_revision='{"main":"7"}',
        terms_digest="c" * 64,
    )
    values: dict[str, Any] = {
        "approval_id": "apr_" + "0" * 32,
        "tenant": "acme",
        "state": ApprovalState.PENDING,
        "bindings": bindings,
        "terms": terms,
        "requesters": ("ann",),
        "reason": "large_refund",
        "reasons": ("large_refund", "new_payee"),
        "created_at_ms": 1_780_000_000_000,
        "expires_at_ms": 1_780_000_600_000,
        "payload": json.dumps({"rawArguments": ARGUMENTS, "argsCanonicalJson": ARGUMENTS}),
    }
    return ApprovalRecord(**{**values, **changes})


def notice(number: int = 0, **changes: Any) -> ApprovalNotice:
    values: dict[str, Any] = {
        "approval_id": f"apr_{number:032x}",
        "run_id": "run-1",
        "call_id": "call-1",
        "agent_name": "Support",
        "tool_name": "refund",
        "reason": "large_refund",
        "reasons": ("large_refund",),
        "approver_roles": ("lead",),
        "state": ApprovalState.PENDING,
        "at": "2026-07-01T12:00:00.000Z",
        "expires_at": "2026-07-01T12:10:00.000Z",
    }
    return ApprovalNotice(**{**values, **changes})
