"""Records as JSON Lines in files of a folder, one writer a process, durable at every append.

What a crash can leave, and nothing else: a last line without its end. It is not repaired away: its bytes stay, followed
by `TORN_END` and a record that gives their length and digest. The head file says up to where records were acknowledged;
a log that ends before is not gone on with, so that no acknowledged record passes as torn. While it is open, the files
are just as long as what was written here: where they are not, somebody else writes, and nothing is added any more.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.log_folder import head_in, head_text, read_tail, segment_path
from aioc_opa.audit.new_files import sync_folder
from aioc_opa.audit.regular_files import NotARegularFileError, descriptor_of
from aioc_opa.audit.sink import Resumed, SinkError
from aioc_opa.core.audit.chain import TORN_END, foreign_record_text
from aioc_opa.errors import AuditLogError, ConfigurationError
from aioc_opa.storage import forks
from aioc_opa.storage.local_filesystem import refused_file_system

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.audit.chain import Head, Sealed

DEFAULT_SEGMENT_BYTES: Final = 64 * 1024 * 1024
_MIN_SEGMENT_BYTES: Final = 4096
_OF_OTHERS: Final = 0o022


class JsonLinesSink:
    """Appends to ``FOLDER/<writer>.<segment>.jsonl``.

    Args:
        folder: made when missing, mode 700; on a local file system.
        segment_bytes: a new file begins after so many, at least 4096.

    Raises:
        ConfigurationError: `segment_bytes` is less.
    """

    def __init__(self, folder: str | Path, *, segment_bytes: int = DEFAULT_SEGMENT_BYTES) -> None:
        if type(segment_bytes) is not int or segment_bytes < _MIN_SEGMENT_BYTES:
            raise ConfigurationError(f"segment_bytes must be at least {_MIN_SEGMENT_BYTES}")
        self._folder: Final = Path(folder).absolute()
        self._segment_bytes: Final = segment_bytes
        self._writer = ""
        self._lock: int | None = None
        self._file: int | None = None
        self._segment = 1
        self._size = 0
        self._torn = False
        self._dead = False
        forks.watch(self)

    def resume(self, writer: str) -> Resumed:
        """See `AuditSink`. Takes the writer's lock, and keeps it until `close`."""
        try:
            if self._lock is None:
                self._take(writer)
            self._close_file()
            tail = read_tail(self._folder, writer)
            self._require_acknowledged(tail.head)
            self._segment, self._size, self._torn = tail.segment, tail.size, tail.torn is not None
            if tail.unended:
                self._write(self._opened(tail.segment), b"\n")
        except OSError as error:
            raise SinkError(f"the log cannot be opened: {error.strerror or type(error).__name__}") from None
        return Resumed(tail.head, tail.torn, tail.checkpoints)

    def segment_after(self, head: Head | None) -> int:
        """See `AuditSink`. Torn bytes and the record that repairs them stand in one line, so in one file."""
        full = head is not None and head.segment == self._segment and self._size >= self._segment_bytes
        return self._segment + 1 if full and not self._torn else self._segment

    def append(self, records: Sequence[Sealed]) -> None:
        """See `AuditSink`. Synced to disk (fdatasync), and then noted in the head file."""
        if self._lock is None or self._dead:
            raise SinkError("the log is closed, was opened by another process, or a sync of it has failed")
        start = TORN_END if self._torn else b""
        try:
            for segment in dict.fromkeys(record.head.segment for record in records):
                lines = [f"{record.text}\n".encode() for record in records if record.head.segment == segment]
                self._write(self._opened(segment), start + b"".join(lines))
                self._torn, start = False, b""
            last = records[-1].head
            os.pwrite(self._lock, head_text(last.sequence, last.hash), 0)
        except NotARegularFileError as error:
            raise AuditLogError(f"audit log of {self._writer!r}: {error}") from None
        except OSError as error:
            raise SinkError(f"the log cannot be written: {error.strerror or type(error).__name__}") from None

    def close(self) -> None:
        """See `AuditSink`. Another process may be the writer then."""
        self._close_file()
        if self._lock is not None:
            # A child that has just been forked shares the lock until it has come to close it: it is let go of here.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        self._let_go()

    def before_fork(self) -> bool:
        """See `forks`: nothing has to be let go of first."""
        return True

    def after_fork(self) -> None:
        """See `forks`."""

    def in_child(self) -> None:
        """See `forks`. A child is not the writer, and must not keep its parent's lock when that one is gone."""
        self._let_go()  # and not unlocked: the lock is the parent's

    def _let_go(self) -> None:
        self._close_file()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self, writer: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        foreign = refused_file_system(self._folder)
        if foreign is not None:
            raise AuditLogError(f"an audit log needs a local file system, not {foreign!r}: use PostgreSQL")
        if self._folder.stat().st_mode & _OF_OTHERS:
            raise AuditLogError(f"{self._folder}: others may write here: chmod go-w {self._folder}")
        path = self._folder / f"{writer}.head"
        try:
            lock = descriptor_of(path, os.O_RDWR | os.O_CREAT)
        except NotARegularFileError as error:
            raise AuditLogError(f"audit log of {writer!r}: {error}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino != path.stat().st_ino:
                raise AuditLogError(f"audit log of {writer!r}: its head file was replaced meanwhile")
        except BlockingIOError:
            os.close(lock)
            raise AuditLogError(
                f"audit log of {writer!r}: another process, or another trail of this one, has it open in "
                f"{self._folder} and writes it. Give each process a writer's name of its own (a service `api-1`, a "
                "person at a desk `desk-1`), or end the other one first"
            ) from None
        except BaseException:
            os.close(lock)
            raise
        self._lock, self._writer = lock, writer

    def _require_acknowledged(self, head: Head | None) -> None:
        if self._lock is None:
            raise SinkError("the log is closed")
        try:
            known = head_in(os.pread(self._lock, 4096, 0))
        except ValueError as error:
            raise AuditLogError(f"audit log of {self._writer!r}: {error}") from None
        if known is None:
            return
        sequence, hash_ = known
        if head is None or head.sequence < sequence or (head.sequence == sequence and head.hash != hash_):
            raise AuditLogError(
                f"audit log of {self._writer!r}: record {sequence} was acknowledged and is not there. "
                "Keep the files, see `aioc-opa audit verify`, and go on under another name"
            )

    def _opened(self, segment: int) -> int:
        if self._file is None or segment != self._segment:
            self._close_file()
            path = segment_path(self._folder, self._writer, segment)
            self._require_same_folder()
            new = not path.exists()
            size = self._size if segment == self._segment else 0
            self._file = descriptor_of(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self._segment, self._size = segment, size
            if new:
                sync_folder(self._folder)
        self._require_untouched(self._file)
        return self._file

    def _require_same_folder(self) -> None:
        """Refuse a folder where our head file is not: another one has taken its place."""
        try:
            there = (self._folder / f"{self._writer}.head").lstat()
        except FileNotFoundError:
            there = None
        ours = None if self._lock is None else os.fstat(self._lock)
        if there is None or ours is None or (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise AuditLogError(foreign_record_text(self._writer))

    def _require_untouched(self, file: int) -> None:
        """Refuse a file that is not the one, or not as long, as it was left here."""
        try:
            there = segment_path(self._folder, self._writer, self._segment).lstat()
        except FileNotFoundError:
            there = None
        now = os.fstat(file)
        if now.st_size != self._size or there is None or (there.st_dev, there.st_ino) != (now.st_dev, now.st_ino):
            raise AuditLogError(foreign_record_text(self._writer))

    def _write(self, file: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            written = os.write(file, view)
            self._size += written
            view = view[written:]
        try:
            os.fdatasync(file)
        except OSError:
            # The kernel may have thrown the pages away and call them clean: what is read back proves nothing.
            self._dead = True
            raise

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None
