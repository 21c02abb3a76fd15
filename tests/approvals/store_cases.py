"""Stores to be tested, each with the ways in which a test can meddle with what it holds."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import text

from aioc_opa.approvals.records import EffectIntent, NewApproval, PendingCaps
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_vote_statement import SignedVote
from aioc_opa.models.decision import ApprovalRequirement, ApprovalTerms
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from aioc_opa.approvals.memory_store import MemoryApprovalStore
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.store import ApprovalStore

CAPS = PendingCaps()
PAYLOAD = '{"rawArguments": "{\\"amount\\": 500}"}'
TERMS = ApprovalTerms(
    requirements=(ApprovalRequirement(code="refund_held", approver_roles=("lead",), quorum=1),),
    separation_of_duties=True,
    ttl_seconds=600,
)


def hexes(size: int) -> str:
    return secrets.token_hex(size // 2)


def bindings(**changes: Any) -> ApprovalBindings:
    values = {
        "proposal_hash": "a" * 64,
        "run_id": "run-1",
        "call_id": "call-1",
        "agent_name": "support",
        "tool_name": "refund",
        "tool_version": "1",
        "tool_digest": "b" * 64,
        "identity": "ada",
        "tenant": "acme",
        "on_behalf_of": ("bob", "cy"),
        "policy_revision": '{"local":"sha256:1"}',
        "terms_digest": "c" * 64,
    }
    return ApprovalBindings.model_validate(values | changes)


def new_approval(tenant: str = "acme", terms: ApprovalTerms = TERMS, **changes: Any) -> NewApproval:
    return NewApproval(
        approval_id=f"apr_{hexes(32)}",
        tenant=tenant,
        bindings=bindings(tenant=tenant or None, **changes),
        terms=terms,
        requesters=("p-ada",),
        reason="refund_held",
        reasons=("over_limit", "refund_held"),
        payload=PAYLOAD,
    )


def signed_vote() -> SignedVote:
    return SignedVote(statement='{"é":1}', key_id="key-1", signature="A" * 86 + "==")


def intent_for(new: NewApproval, **changes: Any) -> EffectIntent:
    intent = EffectIntent(
        execution_id=hexes(32),
        tenant=new.tenant,
        run_id=new.bindings.run_id,
        call_id=new.bindings.call_id,
        tool_name=new.bindings.tool_name,
        proposal_hash=new.bindings.proposal_hash,
        approval_id=new.approval_id,
    )
    return replace(intent, **changes)


def approve(store: ApprovalStore, new: NewApproval) -> None:
    moved = store.vote(new.tenant, new.approval_id, signed_vote(), lambda _: ApprovalEvent.APPROVE)
    assert moved.moved


def approved(store: ApprovalStore, **changes: Any) -> NewApproval:
    new = new_approval(**changes)
    assert store.open(new, CAPS).kind == "opened"
    approve(store, new)
    return new


def consumed(store: ApprovalStore, **changes: Any) -> tuple[NewApproval, EffectIntent]:
    new = approved(store, **changes)
    intent = intent_for(new)
    store.intend(intent)
    assert store.consume(intent).moved
    return new, intent


class StoreCase(Protocol):
    """A store and what only its owner can do to it."""

    store: ApprovalStore

    def age(self, approval_id: str, milliseconds: int) -> None:
        """Let an approval be so much older."""

    def put_back(self, approval_id: str, state: ApprovalState) -> None:
        """Write a state into an approval, as somebody with access to the data would."""


@dataclass
class MemoryCase:
    store: MemoryApprovalStore

    def age(self, approval_id: str, milliseconds: int) -> None:
        record = self.store._records[approval_id]
        self.store._records[approval_id] = replace(
            record,
            created_at_ms=record.created_at_ms - milliseconds,
            expires_at_ms=record.expires_at_ms - milliseconds,
        )

    def put_back(self, approval_id: str, state: ApprovalState) -> None:
        record = self.store._records[approval_id]
        self.store._records[approval_id] = replace(record, state=state)


@dataclass
class SqlCase:
    store: SqlApprovalStore
    target: str

    def sql(self, statement: str, **values: Any) -> Any:
        """Run a statement in the store's database, beside the store; gives its first value, if there is one."""
        database = Database.open(self.target)
        try:
            with database.begin() as connection:
                result = connection.execute(text(statement), values)
                return result.scalars().all() if result.returns_rows else result.rowcount
        finally:
            database.close()

    def again(self, cipher: PayloadCipher | None = None) -> SqlApprovalStore:
        """Another store on the same database."""
        return SqlApprovalStore(Database.open(self.target), cipher=cipher)

    def age(self, approval_id: str, milliseconds: int) -> None:
        self.sql(
            "UPDATE aioc_approvals SET created_at_ms = created_at_ms - :by, expires_at_ms = expires_at_ms - :by "
            "WHERE approval_id = :id",
            by=milliseconds,
            id=approval_id,
        )

    def put_back(self, approval_id: str, state: ApprovalState) -> None:
        self.sql(
            "UPDATE aioc_approvals SET state = :state WHERE approval_id = :id",
            state=state.value,
            id=approval_id,
        )
