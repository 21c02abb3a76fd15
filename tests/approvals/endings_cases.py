"""Requests that are opened, ended and used, for the tests of what has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from tests.approvals.store_cases import (
    CAPS,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord, NewApproval
    from aioc_opa.approvals.store import ApprovalStore


S, E = ApprovalState, ApprovalEvent


def opened(store: ApprovalStore, call_id: str, **changes: str) -> NewApproval:
    new = new_approval(call_id=call_id, **changes)
    assert store.open(new, CAPS).kind == "opened"
    return new


def get(store: ApprovalStore, new: NewApproval) -> ApprovalRecord:
    record = store.get(new.tenant, new.approval_id)
    assert record is not None
    return record


def reject(store: ApprovalStore, new: NewApproval) -> None:
    assert store.vote("acme", new.approval_id, signed_vote(), lambda _: E.REJECT).moved


def consume(store: ApprovalStore, new: NewApproval) -> tuple[bool, ApprovalState | None]:
    intent = intent_for(new)
    store.intend(intent)
    moved = store.consume(intent)
    return moved.moved, moved.record and moved.record.state


# --- a rejected hash, and the other requests of its run


def end(store: ApprovalStore, new: NewApproval, how: str) -> None:
    if how == "erased":
        assert store.erase("acme", new.approval_id)
    elif how == "rejected":
        reject(store, new)
    else:
        event = {"revoked": E.REVOKE, "dismissed": E.DISMISS, "expired": E.EXPIRE}[how]
        assert store.end("acme", new.approval_id, event, "p-lee", "why").moved
