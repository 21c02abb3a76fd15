"""What all parts of the contract of stores are tested with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from tests.approvals.store_cases import (
    TERMS,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore

S, E = ApprovalState, ApprovalEvent
TTL_MS = TERMS.ttl_seconds * 1000


def state(store: ApprovalStore, approval_id: str, tenant: str = "acme") -> ApprovalState | None:
    record = store.get(tenant, approval_id)
    return None if record is None else record.state


def reject(store: ApprovalStore, approval_id: str) -> None:
    assert store.vote("acme", approval_id, signed_vote(), lambda _: E.REJECT).moved


# --- open
