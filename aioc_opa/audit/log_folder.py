"""The files of a JSON Lines log: ``<writer>.<segment>.jsonl`` and ``<writer>.head`` in one folder."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.regular_files import NotARegularFileError, open_regular
from aioc_opa.audit.sink import MAX_CHECKPOINTS, Torn
from aioc_opa.core.audit.chain import MAX_RECORD_BYTES, TORN_END, Head, NotARecordError, head_of, record_of
from aioc_opa.errors import AuditLogError
from aioc_opa.models.audit_record import Checkpoint, TornRepaired

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.models.audit_record import AuditRecord

SEGMENT_FILE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.([0-9]{8})\.jsonl")
HEAD_FILE: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.head")
_HEAD: Final = re.compile(rb"([0-9]{20}) ([0-9a-f]{64})\n")
_TAIL_BYTES: Final = 4 * MAX_RECORD_BYTES
_CHECKPOINT: Final = b'"type":"checkpoint"'


def segment_path(folder: Path, writer: str, segment: int) -> Path:
    """The file of a segment."""
    return folder / f"{writer}.{segment:08d}.jsonl"


def segments_of(folder: Path, writer: str) -> list[int]:
    """Numbers of a writer's segments, rising.

    Raises:
        OSError: the folder cannot be read.
    """
    return segments_by_writer(folder).get(writer, [])


def segments_by_writer(folder: Path) -> dict[str, list[int]]:
    """Numbers of every writer's segments, rising.

    Raises:
        OSError: the folder cannot be read.
    """
    found: dict[str, list[int]] = {}
    for match in (SEGMENT_FILE.fullmatch(path.name) for path in folder.iterdir()):
        if match is not None:
            found.setdefault(match[1], []).append(int(match[2]))
    return {writer: sorted(numbers) for writer, numbers in found.items()}


def head_text(sequence: int, hash_: str) -> bytes:
    """What a head file holds: the last record that was acknowledged. Of one length, so that it is written in one go."""
    return f"{sequence:020d} {hash_}\n".encode("ascii")


def head_in(content: bytes) -> tuple[int, str] | None:
    """The acknowledged record that a head file names; None for a new one, which a power cut can leave as zeros.

    Raises:
        ValueError: it is something else.
    """
    if not content.strip(b"\0"):
        return None
    match = _HEAD.fullmatch(content)
    if match is None:
        raise ValueError("the head file is not what was written")
    return int(match[1]), match[2].decode()


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of a writer's log.

    Attributes:
        head: the last whole record; None when there is none.
        segment: number of the last file.
        size: of the last file, bytes.
        torn: what follows the last whole record.
        unended: whether the last record lacks its line's end.
        checkpoints: the latest first, `MAX_CHECKPOINTS` at most, of the last two files.
    """

    head: Head | None
    segment: int
    size: int
    torn: Torn | None = None
    unended: bool = False
    checkpoints: tuple[AuditRecord, ...] = ()


def read_tail(folder: Path, writer: str) -> LogTail:
    """Read the end of a writer's log.

    Raises:
        AuditLogError: it does not end as a log of this writer does.
        OSError: it cannot be read.
    """
    segments = segments_of(folder, writer)
    if not segments:
        return LogTail(None, 1, 0)
    try:
        return replace(_tail(folder, writer, segments), checkpoints=_checkpoints(folder, writer, segments))
    except NotARegularFileError as error:
        raise AuditLogError(f"audit log of {writer!r}: {error}") from None


def _tail(folder: Path, writer: str, segments: list[int]) -> LogTail:
    last = segments[-1]
    content, size = _end_of(segment_path(folder, writer, last))
    whole, end, piece = content.rpartition(b"\n")
    line = whole.rpartition(b"\n")[2]
    if not end and size > len(content):
        raise AuditLogError(f"audit log of {writer!r}: segment {last} ends with too many bytes that are no record")
    if not end and len(segments) > 1:  # nothing whole is in the last file yet
        before, _ = _end_of(segment_path(folder, writer, segments[-2]))
        line, end = before.removesuffix(b"\n").rpartition(b"\n")[2], before[-1:]
        if end != b"\n":
            raise AuditLogError(f"audit log of {writer!r}: segment {segments[-2]} does not end with a whole record")
    record = _record_in(line, writer) if end else None
    head = None if record is None else head_of(record)
    if last - (0 if head is None else head.segment) > 1:
        raise AuditLogError(f"audit log of {writer!r}: segment {last} is there, and one before it is not")
    if not piece:
        return LogTail(head, last, size)
    follows = _following(piece, head, writer)
    if follows is not None:
        return LogTail(head_of(follows), last, size, unended=True)
    return LogTail(head, last, size, torn=Torn(len(piece), hashlib.sha256(piece).hexdigest()))


def split_line(line: bytes) -> tuple[bytes | None, bytes]:
    """The torn bytes that a line begins with, if any, and the text of its record."""
    torn, end, text = line.rpartition(TORN_END)
    return (torn, text) if end else (None, line)


def repairs(record: AuditRecord, torn: bytes | None) -> bool:
    """Whether a record says what stands before it in its line, and nothing that does not."""
    content = record.content
    if type(content) is not TornRepaired:
        return torn is None
    return torn is not None and content.length == len(torn) and content.digest == hashlib.sha256(torn).hexdigest()


def _end_of(path: Path) -> tuple[bytes, int]:
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read(), size


def _checkpoints(folder: Path, writer: str, segments: list[int]) -> tuple[AuditRecord, ...]:
    """Of the last two files: one that is finished ends with a checkpoint, unless its writer was killed."""
    lines: deque[bytes] = deque(maxlen=MAX_CHECKPOINTS)
    for segment in segments[-2:]:
        with open_regular(segment_path(folder, writer, segment)) as file:
            while line := file.readline(_TAIL_BYTES):
                if _CHECKPOINT in line:
                    lines.append(line)
    records = []
    for line in reversed(lines):
        try:
            record = record_of(split_line(line.removesuffix(b"\n"))[1])
        except NotARecordError:
            continue
        if type(record.content) is Checkpoint:
            records.append(record)
    return tuple(records)


def _record_in(line: bytes, writer: str) -> AuditRecord:
    torn, text = split_line(line)
    try:
        record = record_of(text)
    except NotARecordError as error:
        raise AuditLogError(f"audit log of {writer!r}: its last line is no record: {error}") from None
    if record.writer != writer or not repairs(record, torn):
        raise AuditLogError(f"audit log of {writer!r}: its last line is not what this writer wrote")
    return record


def _following(piece: bytes, head: Head | None, writer: str) -> AuditRecord | None:
    """The whole record that a line without end is, if it is the next one: it lacks only its end."""
    torn, text = split_line(piece)
    try:
        record = record_of(text)
    except NotARecordError:
        return None
    if record.writer != writer or not repairs(record, torn):
        return None
    if head is None:
        return record if record.sequence == 1 else None
    return record if record.prev_hash == head.hash and record.sequence == head.sequence + 1 else None
