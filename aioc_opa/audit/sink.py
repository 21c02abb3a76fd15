"""What an audit log is written to: one chain of one writer, appended to durably."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.audit.chain import Head, Sealed
    from aioc_opa.models.audit_record import AuditRecord

MAX_CHECKPOINTS: Final = 64
"""How many a sink gives when it resumes. Where none of them is the writer's, it vouches for nothing that it found."""


class SinkError(Exception):
    """Records are not known to be durable. What did get there is found by the next `resume`. No value is in it."""


@dataclass(frozen=True, slots=True)
class Torn:
    """Bytes of a write that was cut off.

    Attributes:
        length: of them.
        digest: their SHA-256, lower-case hex.
    """

    length: int
    digest: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a chain stands.

    Attributes:
        head: its last whole record; None when there is none.
        torn: what follows it; the next record must say so.
        checkpoints: records that are checkpoints, the latest first, as far back as was looked. Not verified.
    """

    head: Head | None
    torn: Torn | None = None
    checkpoints: tuple[AuditRecord, ...] = ()


class AuditSink(Protocol):
    """One writer's log. Called by one thread at a time."""

    def resume(self, writer: str) -> Resumed:
        """Find the end of the chain; called before the first `append`, and again after one that failed.

        Raises:
            AuditLogError: this writer cannot go on here: another process is it, or the log is not what was written.
            SinkError: the log cannot be used now.
        """
        ...

    def segment_after(self, head: Head | None) -> int:
        """The number of the segment that the record after `head` goes into: the same, or the next."""
        ...

    def append(self, records: Sequence[Sealed]) -> None:
        """Write records that follow the head, in their order. They are durable on return.

        Raises:
            AuditLogError: what is there is not what this sink has written: nothing was, and nothing must be any more.
            SinkError: they are not known to be.
        """
        ...

    def close(self) -> None:
        """Let go of the log. Idempotent."""
        ...
