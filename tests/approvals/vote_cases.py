"""A request, people and keys, for tests about votes."""

from __future__ import annotations

import json
from typing import Any

from aioc_opa.approvals.keys import AccountHolder, AuthorityHolder, SigningKey, VoteKeys
from aioc_opa.approvals.people import Person
from aioc_opa.approvals.records import ApprovalRecord
from aioc_opa.core.approvals.digests import terms_digest, tool_digest
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms

CREATED = 1_784_000_000_000
TTL = 900
ARGS = '{"amount":1200,"note":"canary-arguments"}'

TERMS = ApprovalTerms(
    requirements=(ApprovalRequirement(code="large_refund", approver_roles=("finance", "legal"), quorum=2),),
    separation_of_duties=True,
    ttl_seconds=TTL,
)
BINDINGS = ApprovalBindings(
    proposal_hash=tool_proposal_hash(agent_name="desk", tool_name="refund", args_canonical_json=ARGS),
    run_id="run-1",
    call_id="call-1",
    agent_name="desk",
    tool_name="refund",
    tool_version="1.0.0",
    tool_digest=tool_digest(name="refund", description="Pay back", schema={"type": "object"}),
    identity="support-bot",
    tenant="acme",
    on_behalf_of=("carol",),
    run_started_by="carol",
    policy_revision='{"local":"sha256:1"}',
    terms_digest=terms_digest(TERMS),
)

AUTHORITY = SigningKey(bytes(range(32)), key_id="authority-1", holder=AuthorityHolder())
"""The application's approval authority."""

ANN = Person("ann", frozenset({"finance", "on_call"}))
BOB = Person("bob", frozenset({"legal"}))
ANNS_KEY = SigningKey(b"a" * 32, key_id="ann-1", holder=AccountHolder("ann", "https://id.example", "00u1"))
KEYS = VoteKeys([AUTHORITY.public_entry(), ANNS_KEY.public_entry(roles={"finance"})])


def payload(args: str = ARGS) -> str:
    call = {
        "rawArguments": args,
        "decodeAssurance": "raw",
        "requestedArguments": json.loads(args),
        "argsCanonicalJson": args,
        "turn": 0,
        "toolDescription": "Pay back",
    }
    return json.dumps(call)


def request(**changes: Any) -> ApprovalRecord:
    values: dict[str, Any] = {
        "approval_id": "apr_" + "1" * 32,
        "tenant": "acme",
        "state": ApprovalState.PENDING,
        "bindings": BINDINGS,
        "terms": TERMS,
        "requesters": ("carol",),
        "reason": "large_refund",
        "reasons": ("large_refund",),
        "created_at_ms": CREATED,
        "expires_at_ms": CREATED + TTL * 1000,
        "payload": payload(),
    }
    return ApprovalRecord(**{**values, **changes})
