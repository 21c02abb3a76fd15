"""Records in a table of SQLite or PostgreSQL: each append is one transaction, durable at its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.sink import MAX_CHECKPOINTS, Resumed, SinkError
from aioc_opa.audit.sql_tables import COMPONENT, MIGRATIONS
from aioc_opa.core.audit.chain import NotARecordError, foreign_record_text, head_of, record_of
from aioc_opa.errors import ApprovalStoreError, AuditLogError
from aioc_opa.models.audit_record import Checkpoint
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head, Sealed
    from aioc_opa.models.audit_record import AuditRecord

_CHECKPOINT: Final = {"rows": 20_000, "like": '%"type":"checkpoint"%', "most": MAX_CHECKPOINTS}
"""Of the last so many rows, when a writer goes on."""

_LAST: Final = "SELECT record FROM aioc_audit_records WHERE writer = :writer ORDER BY sequence DESC LIMIT 1"
_HEAD: Final = "SELECT sequence, hash FROM aioc_audit_records WHERE writer = :writer ORDER BY sequence DESC LIMIT 1"
_CHECKPOINTS: Final = (
    "SELECT record FROM (SELECT sequence, record FROM aioc_audit_records WHERE writer = :writer "
    "ORDER BY sequence DESC LIMIT :rows) AS latest WHERE record LIKE :like ORDER BY sequence DESC LIMIT :most"
)
_INSERT: Final = (
    "INSERT INTO aioc_audit_records (writer, sequence, hash, record) VALUES (:writer, :sequence, :hash, :record)"
)


class SqlSink:
    """Appends to the table of a database. Writers of many processes share it; each has a name of its own.

    Two processes under one name cannot fork its chain: a sequence number is taken once. The one that finds a row behind
    its last one that is not its own adds nothing any more.

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
        self._last: Head | None = None
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
                signed = connection.execute(text(_CHECKPOINTS), {"writer": writer, **_CHECKPOINT}).scalars().all()
        except ApprovalStoreError as error:
            raise SinkError(str(error)) from None
        self._last = None
        if last is None:
            return Resumed(None)
        try:
            record = record_of(str(last).encode(errors="surrogatepass"))
        except NotARecordError as error:
            raise AuditLogError(f"audit log of {writer!r}: its last row is no record: {error}") from None
        if record.writer != writer:
            raise AuditLogError(f"audit log of {writer!r}: its last row is another writer's")
        self._last = head_of(record)
        return Resumed(self._last, checkpoints=tuple(_records(signed)))

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
                there = connection.execute(text(_HEAD), {"writer": self._writer}).one_or_none()
                before = None if self._last is None else (self._last.sequence, self._last.hash)
                if (None if there is None else (there[0], there[1])) != before:
                    raise AuditLogError(foreign_record_text(self._writer))
                connection.execute(text(_INSERT), rows)
        except ApprovalStoreError as error:
            raise SinkError(str(error)) from None
        self._last = records[-1].head

    def close(self) -> None:
        """See `AuditSink`."""
        self._database.close()


def _records(texts: Sequence[object]) -> Iterator[AuditRecord]:
    for text in texts:
        try:
            record = record_of(str(text).encode(errors="surrogatepass"))
        except NotARecordError:
            continue
        if type(record.content) is Checkpoint:
            yield record
