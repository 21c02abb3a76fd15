"""Where a reader finds logs: a folder of JSON Lines files, or the table of a database. Nothing is written to either."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from aioc_opa.audit.log_folder import HEAD_FILE, SEGMENT_FILE, head_in, segment_path, segments_by_writer
from aioc_opa.audit.regular_files import NotARegularFileError, open_regular
from aioc_opa.audit.sql_tables import COMPONENT, MIGRATIONS
from aioc_opa.core.audit.chain import MAX_RECORD_BYTES
from aioc_opa.errors import ApprovalStoreError, InputFileError
from aioc_opa.storage.database import Database
from aioc_opa.storage.migrations import refuse_newer, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import RowMapping

    from aioc_opa.storage.migrations import Dialect

LineEnd = Literal["ended", "open", "broken", "no_file"]

LONGEST_LINE: Final = 8 * MAX_RECORD_BYTES
"""Bytes: a torn write, which is at most half of it, and the record that repairs it."""

_PAGE: Final = 1000
_SETTLED_NS: Final = 2_000_000_000
_HEAD_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it is there.

    Attributes:
        place: of the line, for people.
        segment: number of its file.
        content: without its end.
        end: ``ended``; or ``open``: the last line of the last file has no end, so that its write may have been cut off,
            or go on now; or ``broken``: a line that no write leaves so, in another place or too long, and nothing after
            it in its file was read; or ``no_file``: what stands there is no regular file, and was not read.
        sequence: under which a database keeps it; None in a file.
        hash: likewise.
    """

    place: str
    segment: int
    content: bytes
    end: LineEnd = "ended"
    sequence: int | None = None
    hash: str | None = None


class LogSource(Protocol):
    """Logs of any number of writers."""

    def writers(self) -> list[str]:
        """Names of all that have a log here, sorted.

        Raises:
            InputFileError: the source cannot be read.
        """
        ...

    def lines(self, writer: str, after: int = 0) -> Iterator[Line]:
        """The lines of a writer's log, in their order.

        Args:
            writer: whose.
            after: a database may leave out records up to this sequence number; files give all.

        Raises:
            InputFileError: the source cannot be read.
        """
        ...

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        """Sequence number and hash of the last record that the writer acknowledged, where that is noted.

        Raises:
            ValueError: the note is not what was written.
            InputFileError: the source cannot be read.
        """
        ...


def open_source(target: str) -> LogSource:
    """The logs that `target` names: a folder, a SQLite file, ``sqlite:///…`` or ``postgresql://…``.

    Raises:
        InputFileError: there is no such thing.
    """
    path = Path(target.removeprefix("sqlite:///"))
    if "://" not in target and path.is_dir():
        return FolderSource(path)
    if not target.startswith("postgres") and not path.is_file():
        raise InputFileError(f"{path}: there is no such folder or file")
    return DatabaseSource(target)


class FolderSource:
    """The files of `JsonLinesSink`, or copies of them.

    Attributes:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._listed: tuple[int, dict[str, list[int]]] | None = None

    def writers(self) -> list[str]:
        """See `LogSource`. A head file without records counts: its records are missing."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except OSError as error:
            raise _unreadable(self.folder, error) from None
        matches = (SEGMENT_FILE.fullmatch(name) or HEAD_FILE.fullmatch(name) for name in names)
        return sorted({match[1] for match in matches if match is not None})

    def lines(self, writer: str, after: int = 0) -> Iterator[Line]:
        """See `LogSource`."""
        del after
        path = self.folder
        try:
            segments = self._segments(writer)
            for segment in segments:
                path = segment_path(self.folder, writer, segment)
                yield from _lines_of(path, segment, last=segment == segments[-1])
        except OSError as error:
            raise _unreadable(path, error) from None

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        """See `LogSource`."""
        path = self.folder / f"{writer}.head"
        try:
            with open_regular(path) as file:
                return head_in(file.read(_HEAD_BYTES))
        except FileNotFoundError:
            return None
        except NotARegularFileError as error:
            raise ValueError(str(error)) from None
        except OSError as error:
            raise _unreadable(path, error) from None

    def _segments(self, writer: str) -> list[int]:
        """The writer's segments as they are now.

        A fleet leaves thousands of writers in one folder. It is listed anew for each of them only while it changes: a
        new file changes the folder's time, unless it comes within the same tick of the file system's clock.
        """
        changed = self.folder.stat().st_mtime_ns
        if self._listed is None or self._listed[0] != changed:
            found = segments_by_writer(self.folder)
            settled = time.time_ns() - changed > _SETTLED_NS
            self._listed = (changed, found) if settled else None
            return found.get(writer, [])
        return self._listed[1].get(writer, [])


def _lines_of(path: Path, segment: int, *, last: bool) -> Iterator[Line]:
    try:
        file = open_regular(path)
    except NotARegularFileError:
        yield Line(path.name, segment, b"", "no_file")
        return
    with file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            place = f"{path.name}:{number}"
            if line.endswith(b"\n"):
                yield Line(place, segment, line[:-1])
            elif last and len(line) < LONGEST_LINE:
                yield Line(place, segment, line, "open")
                return
            else:
                yield Line(place, segment, line, "broken")
                return


_AS_IT_IS: Final[Mapping[Dialect, str]] = {
    "sqlite": "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) ELSE {0} IS NULL END AS {0}",
    "postgresql": "{0}",
}
"""SQLite keeps what it is given: a text comes as its bytes, which may be no UTF-8, and anything else as a number."""


class DatabaseSource:
    """The table of `SqlSink`."""

    def __init__(self, target: str) -> None:
        self._target: Final = target

    def writers(self) -> list[str]:
        """See `LogSource`."""
        with closing(self._database()) as database:
            writer = _AS_IT_IS[database.dialect].format("writer")
            query = f"SELECT DISTINCT {writer} FROM aioc_audit_records"  # noqa: S608 - our own names
            names = [row["writer"] for row in _rows(database, query, {})]
        try:
            return sorted(name.decode() if isinstance(name, bytes) else _text(name) for name in names)
        except ValueError:
            raise InputFileError(
                "the audit log cannot be read: a row's writer is no text, so no writer wrote it"
            ) from None

    def lines(self, writer: str, after: int = 0) -> Iterator[Line]:
        """See `LogSource`."""
        with closing(self._database()) as database:
            hashed, record = map(_AS_IT_IS[database.dialect].format, ("hash", "record"))
            query = (
                f"SELECT sequence, {hashed}, {record} FROM aioc_audit_records "  # noqa: S608 - our own names
                "WHERE writer = :writer AND sequence > :after ORDER BY sequence LIMIT :page"
            )
            while True:
                found = _rows(database, query, {"writer": writer, "after": after, "page": _PAGE})
                for row in found:
                    if type(row["sequence"]) is not int:  # SQLite keeps what it is given, whatever the column's type
                        yield Line(f"after row {after}", 1, b"", "broken")
                        return
                    after = row["sequence"]
                    content, found_hash = _bytes(row["record"]), _bytes(row["hash"]).decode(errors="replace")
                    yield Line(f"row {after}", 1, content, sequence=after, hash=found_hash)
                if len(found) < _PAGE:
                    return

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        """See `LogSource`. A commit is the acknowledgement; nothing else is noted."""
        del writer
        return None

    def _database(self) -> Database:
        try:
            database = Database.open(self._target)
        except ApprovalStoreError as error:
            raise InputFileError(f"the audit log cannot be read: {error}") from None
        try:
            with database.begin(read_only=True) as connection:
                there = version_of(connection, COMPONENT)
            refuse_newer(there, COMPONENT, MIGRATIONS)
            if not there:
                raise InputFileError(
                    "there is no audit log in this database: no writer has opened it yet, or it is not theirs"
                )
        except ApprovalStoreError as error:
            database.close()
            raise InputFileError(f"the audit log cannot be read: {error}") from None
        except BaseException:
            database.close()
            raise
        return database


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


def _rows(database: Database, query: str, given: dict[str, object]) -> list[RowMapping]:
    from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

    try:
        with database.begin(read_only=True) as connection:
            return list(connection.execute(text(query), given).mappings())
    except ApprovalStoreError as error:
        raise InputFileError(f"the audit log cannot be read: {error}") from None


def _unreadable(path: Path, error: OSError) -> InputFileError:
    return InputFileError(f"{path}: cannot be read: {error.strerror or type(error).__name__}")
