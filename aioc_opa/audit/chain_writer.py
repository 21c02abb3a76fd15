"""Appends to one writer's chain: repairs, starts, rotates and signs on the way. Not thread-safe."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.approvals.ed25519 import to_base64
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.audit.chain import checkpoint_statement, seal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.audit.sink import AuditSink
    from aioc_opa.core.audit.chain import Head, Sealed
    from aioc_opa.core.json_value import JsonObject

Mode = Literal["required", "best_effort"]


class ChainWriter:
    """The chain of one writer in one sink.

    Args:
        sink: where records go.
        writer: a `WriterName`.
        key: signs checkpoints.
        mode: noted in the log when a process starts.
        checkpoint_records: a checkpoint follows after so many records.
    """

    def __init__(self, sink: AuditSink, *, writer: str, key: AuditKey, mode: Mode, checkpoint_records: int) -> None:
        self._sink: Final = sink
        self._writer: Final = writer
        self._key: Final = key
        self._mode: Final = mode
        self._checkpoint_records: Final = checkpoint_records
        self._known = False
        self._started = False
        self._log_id = ""
        self._head: Head | None = None
        self._repair: JsonObject | None = None
        self.unsigned = 0

    def open(self) -> None:
        """Find the end of the chain, unless it is known.

        Raises:
            AuditLogError: see `AuditSink.resume`.
            SinkError: likewise.
        """
        if self._known:
            return
        resumed = self._sink.resume(self._writer)
        self._head = resumed.head
        self._log_id = secrets.token_hex(16) if resumed.head is None else resumed.head.log_id
        torn = resumed.torn
        self._repair = None if torn is None else {"type": "torn_repaired", "length": torn.length, "digest": torn.digest}
        self._known = True

    def append(self, contents: Sequence[JsonObject]) -> None:
        """Append records; they are durable on return.

        Args:
            contents: of checked models, as they stand on the wire.

        Raises:
            AuditLogError: see `AuditSink.resume`.
            SinkError: they are not known to be durable.
        """
        self._append(contents, checkpoint=False)

    def checkpoint(self) -> None:
        """Sign what is not signed yet.

        Raises:
            AuditLogError: see `AuditSink.resume`.
            SinkError: the checkpoint is not known to be durable.
        """
        if self.unsigned:
            self._append((), checkpoint=True)

    def _append(self, contents: Sequence[JsonObject], *, checkpoint: bool) -> None:
        self.open()
        batch = _Batch(self._writer, self._log_id, self._head, self._sink.segment_after(self._head))
        unsigned = self.unsigned
        head = self._head
        if head is not None and batch.segment != head.segment and unsigned and self._repair is None:
            # A file that is finished ends with a signature.
            batch.segment, following = head.segment, batch.segment
            batch.add_checkpoint(self._key)
            batch.segment, unsigned = following, 0
        before: list[JsonObject] = [] if self._repair is None else [self._repair]
        if not self._started:
            started: JsonObject = {
                "type": "writer_started",
                "keyId": self._key.key_id,
                "publicKey": to_base64(self._key.public_key),
                "mode": self._mode,
            }
            before.append(started)
        for content in (*before, *contents):
            batch.add(content)
            unsigned += 1
        if checkpoint or unsigned >= self._checkpoint_records:
            batch.add_checkpoint(self._key)
            unsigned = 0
        try:
            self._sink.append(batch.records)
        except BaseException:
            self._known = False  # some of it may be there
            self.unsigned = max(self.unsigned, 1)
            raise
        self._head, self._repair, self._started, self.unsigned = batch.head, None, True, unsigned

    def close(self) -> None:
        """Let go of the sink."""
        self._known = False
        self._sink.close()


class _Batch:
    def __init__(self, writer: str, log_id: str, head: Head | None, segment: int) -> None:
        self._writer: Final = writer
        self._log_id: Final = log_id
        self.head = head
        self.segment = segment
        self.records: list[Sealed] = []

    def add(self, content: JsonObject, at: str | None = None) -> None:
        sealed = seal(
            content,
            writer=self._writer,
            log_id=self._log_id,
            segment=self.segment,
            at=at or _now(),
            before=self.head,
        )
        self.records.append(sealed)
        self.head = sealed.head

    def add_checkpoint(self, key: AuditKey) -> None:
        head, at = self.head, _now()
        if head is None:
            return
        statement = checkpoint_statement(
            writer=self._writer,
            log_id=self._log_id,
            segment=self.segment,
            sequence=head.sequence + 1,
            at=at,
            prev_hash=head.hash,
            key_id=key.key_id,
        )
        self.add({"type": "checkpoint", "keyId": key.key_id, "signature": key.sign(statement)}, at)


def _now() -> str:
    return rfc3339_of_ms(time.time_ns() // 1_000_000)
