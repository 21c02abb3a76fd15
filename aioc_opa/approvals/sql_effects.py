"""Effects in SQL: intents, the one use of an approval or a call, and how it ended.

Each is one short transaction. What makes a thing happen once is a primary key of an insert-only table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import exists, select

from aioc_opa.approvals.records import Moved, UnfinishedEffect
from aioc_opa.approvals.sql_base import SqlBase
from aioc_opa.approvals.sql_rows import intent_of
from aioc_opa.approvals.sql_statements import (
    FINISH,
    INTENT,
    given,
    intend,
    use_up,
    write_claim,
    write_consumption,
    write_end,
)
from aioc_opa.approvals.sql_tables import claims, consumptions, ends, intents
from aioc_opa.approvals.store_steps import UndoneError, is_final, require_texts
from aioc_opa.core.approvals.states import OPEN, ApprovalState
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Executable

    from aioc_opa.approvals.records import EffectIntent, EffectOutcome


class SqlEffects(SqlBase):
    """The second half of an approval's life."""

    def intend(self, intent: EffectIntent) -> None:
        """See `ApprovalStore.intend`."""
        values = {name: getattr(intent, name) for name in type(intent).__slots__}
        require_texts(*values.values())
        with self._database.begin() as connection:
            connection.execute(intend(self._dialect), given(**values))

    def consume(self, intent: EffectIntent) -> Moved:
        """See `ApprovalStore.consume`."""
        approval_id = intent.approval_id
        if approval_id is None:
            return Moved(moved=False, record=None)
        require_texts(intent.tenant, approval_id, intent.execution_id)
        try:
            with self._database.begin() as connection:
                self._lock_with_call(connection, intent.tenant, approval_id)
                this = given(approval_id=approval_id, tenant=intent.tenant)
                used = connection.execute(use_up(self._dialect), this)
                by = given(approval_id=approval_id, execution_id=intent.execution_id, **_call_of(intent))
                if used.rowcount != 1 or not self._wrote(connection, write_consumption(self._dialect), by):
                    raise UndoneError
                record = self._read(connection, intent.tenant, approval_id, payload=False)
                return Moved(moved=True, record=record)
        except UndoneError:
            with self._database.begin() as connection:
                record = self._read(connection, intent.tenant, approval_id, payload=False)
                self._keep_expiries(connection, self._unsaid(connection, [record] if record else []))
                if record is not None and record.state in OPEN and self._was_rejected(connection, **_call_of(intent)):
                    record = replace(record, state=ApprovalState.REJECTED)
            return Moved(moved=False, record=record)

    def claim(self, intent: EffectIntent) -> bool:
        """See `ApprovalStore.claim`."""
        key = {"tenant": intent.tenant, "run_id": intent.run_id, "call_id": intent.call_id}
        require_texts(*key.values(), intent.execution_id)
        with self._database.begin() as connection:
            claim = given(**key, execution_id=intent.execution_id)
            return self._wrote(connection, write_claim(self._dialect), claim)

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """See `ApprovalStore.finish`."""
        require_texts(intent.tenant, intent.execution_id)
        final = is_final(outcome)
        with self._database.begin() as connection:
            execution = given(execution_id=intent.execution_id, tenant=intent.tenant)
            stored = connection.execute(INTENT, execution).one_or_none()
            if stored is None:
                raise ApprovalStoreError("no such intent is stored in this tenant")
            end = given(execution_id=intent.execution_id, final=int(final), outcome=outcome)
            if self._wrote(connection, write_end(self._dialect), end) and stored.approval_id is not None:
                state = ApprovalState.COMPLETED if final else ApprovalState.OUTCOME_UNKNOWN
                used = given(approval_id=stored.approval_id, execution_id=intent.execution_id, state=state.value)
                connection.execute(FINISH, used)

    def unfinished(self, tenant: str | None, before_ms: int) -> Sequence[UnfinishedEffect]:
        """See `ApprovalStore.unfinished`."""
        require_texts(tenant)
        query = (
            select(intents, consumptions.c.execution_id.label("consumed"), claims.c.execution_id.label("claimed"))
            .outerjoin(consumptions, consumptions.c.execution_id == intents.c.execution_id)
            .outerjoin(claims, claims.c.execution_id == intents.c.execution_id)
            .where(
                intents.c.at_ms < before_ms,
                ~exists().where(ends.c.execution_id == intents.c.execution_id),
            )
            .order_by(intents.c.at_ms, intents.c.execution_id)
        )
        if tenant is not None:
            query = query.where(intents.c.tenant == tenant)
        with self._database.begin(read_only=True) as connection:
            rows = connection.execute(query).all()
        return [
            UnfinishedEffect(
                intent=intent_of(row),
                intended_at_ms=row.at_ms,
                may_have_run=(row.claimed if row.approval_id is None else row.consumed) is not None,
            )
            for row in rows
        ]

    @staticmethod
    def _wrote(connection: Connection, statement: Executable, values: dict[str, object]) -> bool:
        return connection.execute(statement, values).first() is not None


def _call_of(intent: EffectIntent) -> dict[str, str]:
    return {"tenant": intent.tenant, "run_id": intent.run_id, "proposal_hash": intent.proposal_hash}
