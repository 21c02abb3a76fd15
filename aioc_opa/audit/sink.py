"""What an audit log is written to: one chain of one writer, appended to durably."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.audit.chain import Head, Sealed


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
    """

    head: Head | None
    torn: Torn | None = None


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
            SinkError: they are not known to be.
        """
        ...

    def close(self) -> None:
        """Let go of the log. Idempotent."""
        ...
