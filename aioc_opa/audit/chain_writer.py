"""Appends to one writer's chain: repairs, starts, rotates and signs on the way. Not thread-safe.

It goes on only behind what it has written itself. What it finds when it starts it declares (`Resumed`) before it signs
anything; what somebody else adds while it runs ends it: no record of its own ever stands behind one that is not.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.approvals.ed25519 import to_base64
from aioc_opa.audit.checkpoints import not_vouched_for
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.audit.chain import checkpoint_statement, foreign_record_text, seal
from aioc_opa.errors import AuditLogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.audit.sink import AuditSink
    from aioc_opa.core.audit.chain import Head, Sealed
    from aioc_opa.core.json_value import JsonObject

Mode = Literal["required", "best_effort"]

_REMEMBERED: Final = 32
"""Writes that failed and may still be there: a database can commit what it was told before the connection broke."""


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
        self._opening: list[JsonObject] = []
        self._attempted: deque[frozenset[str]] = deque(maxlen=_REMEMBERED)
        self._stopped: str | None = None
        self._between_files = False
        self.unsigned = 0

    def open(self) -> None:
        """Find the end of the chain, unless it is known.

        Raises:
            AuditLogError: see `AuditSink.resume`; or, for good, somebody else has written under this name meanwhile.
            SinkError: see `AuditSink.resume`.
        """
        if self._stopped is not None:
            raise AuditLogError(self._stopped)
        if self._known:
            return
        found = self._sink.resume(self._writer)
        if self._started and not self._is_ours(found.head):
            raise self._stop(foreign_record_text(self._writer))
        self._head = found.head
        # A next file may be there already, and empty: a write into it has failed. The one before gets nothing more.
        self._between_files = found.head is not None and self._sink.segment_after(found.head) != found.head.segment
        self._log_id = secrets.token_hex(16) if found.head is None else found.head.log_id
        self._opening = []
        if found.torn is not None:
            torn = found.torn
            self._opening.append({"type": "torn_repaired", "length": torn.length, "digest": torn.digest})
        if not self._started:
            unvouched = not_vouched_for(found, writer=self._writer, key=self._key)
            self._opening += [] if unvouched is None else [unvouched]
            self._opening.append(self._start())
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
        settled = not self._opening and not self._between_files
        if head is not None and batch.segment != head.segment and unsigned and settled:
            # A file that is finished ends with a signature. Not over what has to be repaired or declared first.
            batch.segment, following = head.segment, batch.segment
            batch.add_checkpoint(self._key)
            batch.segment, unsigned = following, 0
        for content in (*self._opening, *contents):
            batch.add(content)
            unsigned += 1
        if checkpoint or unsigned >= self._checkpoint_records:
            batch.add_checkpoint(self._key)
            unsigned = 0
        try:
            self._sink.append(batch.records)
        except AuditLogError as error:
            if self._started:
                raise self._stop(str(error)) from None
            self._known = False  # nothing of this process is there yet: it can still find the end, and declare it
            raise
        except BaseException:
            self._known = False  # some of it may be there
            self._attempted.append(frozenset(record.head.hash for record in batch.records))
            self.unsigned = max(self.unsigned, 1)
            raise
        self._head, self._opening, self._started, self.unsigned = batch.head, [], True, unsigned
        self._attempted.clear()
        self._between_files = False

    def close(self) -> None:
        """Let go of the sink."""
        self._known = False
        self._sink.close()

    def _is_ours(self, head: Head | None) -> bool:
        """Whether this process has written the record at the end: it was acknowledged, or its write failed."""
        return head == self._head or (head is not None and any(head.hash in batch for batch in self._attempted))

    def _start(self) -> JsonObject:
        return {
            "type": "writer_started",
            "keyId": self._key.key_id,
            "publicKey": to_base64(self._key.public_key),
            "mode": self._mode,
        }

    def _stop(self, text: str) -> AuditLogError:
        self._stopped, self._known = text, False
        return AuditLogError(text)


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
