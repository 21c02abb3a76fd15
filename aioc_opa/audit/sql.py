"""Records in a table of SQLite or PostgreSQL: each append is one transaction, durable at its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.sink import Resumed, SinkError
from aioc_opa.audit.sql_tables import COMPONENT, MIGRATIONS
from aioc_opa.core.audit.chain import NotARecordError, head_of, record_of
from aioc_opa.errors import ApprovalStoreError, AuditLogError
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head, Sealed

_LAST: Final = "SELECT record FROM aioc_audit_records WHERE writer = :writer ORDER BY sequence DESC LIMIT 1"
_INSERT: Final = (
    "INSERT INTO aioc_audit_records (writer, sequence, hash, record) VALUES (:writer, :sequence, :hash, :record)"
)


class SqlSink:
    """Appends to the table of a database. Writers of many processes share it; each has a name of its own.

    Two processes under one name cannot fork its chain: a sequence number is taken once, and the other's append fails.

    Args:
        target: path of a SQLite file, ``sqlite:///…`` or ``postgresql://…``.

    Raises:
        AuditLogError: there is no such database, or a package is missing.
    """

    def __init__(self, target: str | Path) -> None:
        try:
            self._database: Final = Database.open(target)
        except ApprovalStoreError as error:
            raise AuditLogError(str(error)) from None
        self._writer = ""
        self._migrated = False

    def resume(self, writer: str) -> Resumed:
        """See `AuditSink`."""
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        self._writer = writer
        try:
            if not self._migrated:
                self._database.migrate(COMPONENT, MIGRATIONS)
                self._migrated = True
            with self._database.begin(read_only=True) as connection:
                last = connection.execute(text(_LAST), {"writer": writer}).scalar_one_or_none()
        except ApprovalStoreError as error:
            raise SinkError(str(error)) from None
        if last is None:
            return Resumed(None)
        try:
            record = record_of(str(last).encode())
        except NotARecordError as error:
            raise AuditLogError(f"audit log of {writer!r}: its last row is no record: {error}") from None
        if record.writer != writer:
            raise AuditLogError(f"audit log of {writer!r}: its last row is another writer's")
        return Resumed(head_of(record))

    def segment_after(self, head: Head | None) -> int:
        """See `AuditSink`: a table is one segment."""
        return 1 if head is None else head.segment

    def append(self, records: Sequence[Sealed]) -> None:
        """See `AuditSink`."""
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        rows = [
            {
                "writer": self._writer,
                "sequence": record.head.sequence,
                "hash": record.head.hash,
                "record": record.text,
            }
            for record in records
        ]
        try:
            with self._database.begin() as connection:
                connection.execute(text(_INSERT), rows)
        except ApprovalStoreError as error:
            raise SinkError(str(error)) from None

    def close(self) -> None:
        """See `AuditSink`."""
        self._database.close()
