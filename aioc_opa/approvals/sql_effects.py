"""Effects in SQL: intents, the one use of an approval or a call, and how it ended.

Each is one short transaction. What makes a thing happen once is a primary key of an insert-only table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from aioc_opa.approvals.records import Moved, UnfinishedEffect
from aioc_opa.approvals.sql_base import SqlBase
from aioc_opa.approvals.sql_rows import intent_of
from aioc_opa.approvals.sql_tables import approvals, claims, consumptions, ends, intents, now
from aioc_opa.approvals.store_steps import UndoneError, is_final, require_texts
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from aioc_opa.approvals.records import EffectIntent, EffectOutcome


class SqlEffects(SqlBase):
    """The second half of an approval's life."""

    def intend(self, intent: EffectIntent) -> None:
        """See `ApprovalStore.intend`."""
        values = {name: getattr(intent, name) for name in type(intent).__slots__}
        require_texts(*values.values())
        with self._database.begin() as connection:
            connection.execute(insert(intents).values(**values, at_ms=now(self._dialect)))

    def consume(self, intent: EffectIntent) -> Moved:
        """See `ApprovalStore.consume`."""
        approval_id = intent.approval_id
        if approval_id is None:
            return Moved(moved=False, record=None)
        require_texts(intent.tenant, approval_id, intent.execution_id)
        try:
            with self._database.begin() as connection:
                # Its row lock makes the second of two wait, and then see the state that the first has left.
                used = connection.execute(
                    update(approvals)
                    .where(
                        approvals.c.approval_id == approval_id,
                        approvals.c.tenant == intent.tenant,
                        approvals.c.state == ApprovalState.APPROVED.value,
                        approvals.c.expires_at_ms > now(self._dialect),
                    )
                    .values(state=ApprovalState.CONSUMED.value, ended_at_ms=now(self._dialect), ended_by="runtime")
                )
                if used.rowcount != 1 or not self._insert_once(
                    connection,
                    consumptions,
                    consumptions.c.approval_id == approval_id,
                    {"approval_id": approval_id, "execution_id": intent.execution_id},
                ):
                    raise UndoneError
                return Moved(moved=True, record=self._read(connection, intent.tenant, approval_id, payload=False))
        except UndoneError:
            with self._database.begin(read_only=True) as connection:
                record = self._read(connection, intent.tenant, approval_id, payload=False)
            return Moved(moved=False, record=record)

    def claim(self, intent: EffectIntent) -> bool:
        """See `ApprovalStore.claim`."""
        key = {"tenant": intent.tenant, "run_id": intent.run_id, "call_id": intent.call_id}
        require_texts(*key.values(), intent.execution_id)
        same = and_(*(claims.c[name] == value for name, value in key.items()))
        with self._database.begin() as connection:
            return self._insert_once(connection, claims, same, {**key, "execution_id": intent.execution_id})

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """See `ApprovalStore.finish`."""
        require_texts(intent.tenant, intent.execution_id)
        final = is_final(outcome)
        with self._database.begin() as connection:
            query = select(intents.c.approval_id).where(
                intents.c.execution_id == intent.execution_id, intents.c.tenant == intent.tenant
            )
            stored = connection.execute(query).one_or_none()
            if stored is None:
                raise ApprovalStoreError("no such intent is stored in this tenant")
            written = self._insert_once(
                connection,
                ends,
                and_(ends.c.execution_id == intent.execution_id, or_(ends.c.final == 1, ends.c.final == int(final))),
                {"execution_id": intent.execution_id, "final": int(final), "outcome": outcome},
            )
            if written and stored.approval_id is not None:
                used_by_it = exists().where(
                    consumptions.c.approval_id == approvals.c.approval_id,
                    consumptions.c.execution_id == intent.execution_id,
                )
                state = ApprovalState.COMPLETED if final else ApprovalState.OUTCOME_UNKNOWN
                connection.execute(
                    update(approvals)
                    .where(approvals.c.approval_id == stored.approval_id, used_by_it)
                    .values(state=state.value)
                )

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

    def _insert_once(
        self, connection: Connection, table: Table, same: ColumnElement[bool], values: dict[str, Any]
    ) -> bool:
        """Insert unless there is the same; False then. Of two at once PostgreSQL lets the second wait."""
        columns = [*values, "at_ms"]
        row = select(*(literal(value).label(name) for name, value in values.items()), now(self._dialect).label("at_ms"))
        once = insert_postgresql if self._dialect == "postgresql" else insert_sqlite
        statement = once(table).from_select(columns, row.where(~exists().where(same))).on_conflict_do_nothing()
        return connection.execute(statement.returning(table.c.at_ms)).first() is not None
