"""What the parts of the SQL store share: the database, the cipher, and reading one approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.sql_rows import record_of
from aioc_opa.approvals.sql_statements import LOCK, VOTES, given, record

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.storage.database import Database


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
