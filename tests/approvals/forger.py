"""Somebody who can write to the database, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.core.approvals.states import ApprovalState
from tests.approvals.desk import Desk
from tests.approvals.treasury import Treasury

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine
    from aioc_opa.models.approval_vote_statement import SignedVote
    from tests.approvals.store_cases import SqlCase


TWO = '{"to": "A7", "amount": 5000}'


class Forger:
    """Somebody who can do anything to the rows, and nothing else."""

    def __init__(self, case: SqlCase, engine: Engine) -> None:
        self.case = case
        self.treasury = Treasury(engine=engine, store=case.store)
        self.desk = Desk(self.treasury)

    def set(self, approval_id: str, **columns: Any) -> None:
        for column, value in columns.items():
            changed = self.case.sql(
                f"UPDATE aioc_approvals SET {column} = :value WHERE approval_id = :id",  # noqa: S608 - our own names
                value=value,
                id=approval_id,
            )
            assert changed == 1

    def column(self, approval_id: str, column: str) -> Any:
        found = self.case.sql(
            f"SELECT {column} FROM aioc_approvals WHERE approval_id = :id",  # noqa: S608 - our own names
            id=approval_id,
        )
        return found[0]

    def insert_vote(self, approval_id: str, vote: SignedVote) -> None:
        self.case.sql(
            "INSERT INTO aioc_approval_votes (approval_id, statement, key_id, signature, at_ms) "
            "VALUES (:id, :body, :key, :signature, :at)",
            id=approval_id,
            body=vote.statement,
            key=vote.key_id,
            signature=vote.signature,
            at=self.case.store.now_ms(),
        )

    def claim_approved(self, approval_id: str, *votes: SignedVote) -> None:
        for vote in votes:
            self.insert_vote(approval_id, vote)
        self.case.put_back(approval_id, ApprovalState.APPROVED)

    def refused(self, approval_id: str, reason: str = "approval_binding_mismatch", **options: Any) -> None:
        self.desk.refuses(reason, approval_id, **options)
        assert self.desk.ran == []


# Edited rows.
