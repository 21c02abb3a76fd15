"""What the parts of the SQL store share: the database, the cipher, and reading, locking and ending one approval."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import select, text

from aioc_opa.approvals.sql_rows import record_of
from aioc_opa.approvals.sql_statements import (
    EXPIRE,
    LOCK,
    REJECTED,
    SET_STATE,
    VOTES,
    given,
    lock_all,
    record,
    write_ending,
    write_expiries,
)
from aioc_opa.approvals.sql_tables import approvals, endings
from aioc_opa.core.approvals.states import ApprovalState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.storage.database import Database

_IDS_AT_ONCE: Final = 500
"""Parameters of one statement: SQLite takes 32,766 at most, PostgreSQL 65,535."""


def in_chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """`ids` in parts that one statement takes."""
    return (ids[start : start + _IDS_AT_ONCE] for start in range(0, len(ids), _IDS_AT_ONCE))


_CALL_TURN: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:call, 7380))")


class SqlBase:
    """Holds a database whose schema is up to date."""

    def __init__(self, database: Database, cipher: PayloadCipher | None) -> None:
        self._database = database
        self._dialect = database.dialect
        self._cipher = cipher

    def _read(
        self, connection: Connection, tenant: str, approval_id: str, *, payload: bool = True
    ) -> ApprovalRecord | None:
        this = given(approval_id=approval_id, tenant=tenant)
        row = connection.execute(record(self._dialect, payload=payload), this).one_or_none()
        if row is None:
            return None
        cast = connection.execute(VOTES, given(approval_id=approval_id)).all()
        return record_of(row, cast, self._cipher)

    def _lock(self, connection: Connection, tenant: str, approval_id: str) -> bool:
        """Keep others from moving this approval until the end of the transaction; False when there is none.

        A statement of its own: only the next one sees what was committed while this one waited (READ COMMITTED).
        """
        this = given(approval_id=approval_id, tenant=tenant)
        return connection.execute(LOCK, this).one_or_none() is not None

    def _lock_with_call(self, connection: Connection, tenant: str, approval_id: str) -> bool:
        """`_lock`, and keep others from rejecting, voting on or using the same call of the run meanwhile.

        The row first, always: nobody holds a call and waits for a row.
        """
        this = given(approval_id=approval_id, tenant=tenant)
        call = connection.execute(LOCK, this).one_or_none()
        if call is None:
            return False
        self._lock_call(connection, tenant, call.run_id, call.proposal_hash)
        return True

    def _lock_call(self, connection: Connection, tenant: str, run_id: str, proposal_hash: str) -> None:
        if self._dialect == "postgresql":  # SQLite has one writer
            connection.execute(_CALL_TURN, {"call": json.dumps([tenant, run_id, proposal_hash])})

    def _was_rejected(self, connection: Connection, tenant: str, run_id: str, proposal_hash: str) -> bool:
        call = given(tenant=tenant, run_id=run_id, proposal_hash=proposal_hash)
        return connection.execute(REJECTED, call).first() is not None

    def _unsaid(self, connection: Connection, records: Sequence[ApprovalRecord]) -> list[str]:
        """The ids of those of `records` that have expired and of which no end is written yet."""
        over = [record.approval_id for record in records if record.state is ApprovalState.EXPIRED]
        said = {
            kept
            for some in in_chunks(over)
            for kept in connection.execute(
                select(endings.c.approval_id).where(endings.c.approval_id.in_(some))
            ).scalars()
        }
        return [approval_id for approval_id in over if approval_id not in said]

    def _keep_expiries(self, connection: Connection, ids: Sequence[str]) -> None:
        """Write for good that the time of these is over; those of which that is not so stay as they are."""
        for some in in_chunks(ids):
            connection.execute(lock_all(some))
            written = connection.execute(write_expiries(self._dialect, some)).scalars().all()
            connection.execute(EXPIRE.where(approvals.c.approval_id.in_(written)))

    def _set_state(self, connection: Connection, record: ApprovalRecord, target: ApprovalState) -> None:
        this = given(tenant=record.tenant, approval_id=record.approval_id, state=target.value)
        connection.execute(SET_STATE, this)

    def _end(
        self, connection: Connection, record: ApprovalRecord, target: ApprovalState, *, by: str, reason: str | None
    ) -> bool:
        """Write for good how an approval ended; False when it has ended before, or was consumed."""
        ending = given(
            approval_id=record.approval_id,
            tenant=record.tenant,
            run_id=record.bindings.run_id,
            proposal_hash=record.bindings.proposal_hash,
            state=target.value,
            ended_by=by,
            end_reason=reason,
        )
        if connection.execute(write_ending(self._dialect), ending).first() is None:
            return False
        self._set_state(connection, record, target)
        return True
