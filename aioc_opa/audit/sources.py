"""Where a reader finds logs: a folder of JSON Lines files, or the table of a database. Nothing is written to either."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from aioc_opa.audit.log_folder import HEAD_FILE, SEGMENT_FILE, head_in, segment_path, segments_of
from aioc_opa.core.audit.chain import MAX_RECORD_BYTES
from aioc_opa.errors import ApprovalStoreError, InputFileError
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import RowMapping

_LONGEST_LINE: Final = 8 * MAX_RECORD_BYTES
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it is there.

    Attributes:
        place: of the line, for people.
        segment: number of its file.
        content: without its end.
        ended: whether it has its end.
        sequence: under which a database keeps it; None in a file.
        hash: likewise.
    """

    place: str
    segment: int
    content: bytes
    ended: bool = True
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
            for segment in segments_of(self.folder, writer):
                path = segment_path(self.folder, writer, segment)
                with path.open("rb") as file:
                    number = 0
                    while line := file.readline(_LONGEST_LINE):
                        number += 1
                        ended = line.endswith(b"\n")
                        yield Line(f"{path.name}:{number}", segment, line.removesuffix(b"\n"), ended)
        except OSError as error:
            raise _unreadable(path, error) from None

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        """See `LogSource`."""
        path = self.folder / f"{writer}.head"
        try:
            return head_in(path.read_bytes()) if path.exists() else None
        except OSError as error:
            raise _unreadable(path, error) from None


class DatabaseSource:
    """The table of `SqlSink`."""

    def __init__(self, target: str) -> None:
        self._target: Final = target

    def writers(self) -> list[str]:
        """See `LogSource`."""
        query = "SELECT DISTINCT writer FROM aioc_audit_records ORDER BY writer"
        with closing(self._database()) as database:
            return [str(row["writer"]) for row in _rows(database, query, {})]

    def lines(self, writer: str, after: int = 0) -> Iterator[Line]:
        """See `LogSource`."""
        query = (
            "SELECT sequence, hash, record FROM aioc_audit_records WHERE writer = :writer AND sequence > :after "
            "ORDER BY sequence LIMIT :page"
        )
        with closing(self._database()) as database:
            while True:
                found = _rows(database, query, {"writer": writer, "after": after, "page": _PAGE})
                for row in found:
                    after = int(row["sequence"])
                    content = str(row["record"]).encode(errors="surrogatepass")
                    yield Line(f"row {after}", 1, content, sequence=after, hash=str(row["hash"]))
                if len(found) < _PAGE:
                    return

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        """See `LogSource`. A commit is the acknowledgement; nothing else is noted."""
        del writer
        return None

    def _database(self) -> Database:
        try:
            return Database.open(self._target)
        except ApprovalStoreError as error:
            raise InputFileError(f"the audit log cannot be read: {error}") from None


def _rows(database: Database, query: str, given: dict[str, object]) -> list[RowMapping]:
    from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

    try:
        with database.begin(read_only=True) as connection:
            return list(connection.execute(text(query), given).mappings())
    except ApprovalStoreError as error:
        raise InputFileError(f"the audit log cannot be read: {error}") from None


def _unreadable(path: Path, error: OSError) -> InputFileError:
    return InputFileError(f"{path}: cannot be read: {error.strerror or type(error).__name__}")
