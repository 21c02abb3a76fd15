"""One pass over one writer's log: what breaks the chain, and how far signatures and anchors reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.ed25519 import verifies
from aioc_opa.audit.findings import Finding, Range, WriterReport
from aioc_opa.audit.log_folder import repairs, split_line
from aioc_opa.core.audit.anchors import AnchoredHead
from aioc_opa.core.audit.chain import GENESIS, Head, NotARecordError, checkpoint_statement, head_of, record_of
from aioc_opa.models.audit_record import Checkpoint, EventsDropped, TornRepaired, WriterStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from aioc_opa.audit.sources import Line
    from aioc_opa.models.audit_record import AuditRecord


class _Run:
    """Records that follow one another without a break."""

    def __init__(self, first: int) -> None:
        self.first: Final = first
        self.last = first
        self.signed = first - 1
        self.anchored = first - 1

    def ranges(self) -> list[Range]:
        anchored = self.anchored
        signed = max(self.signed, anchored)
        parts = (
            Range(self.first, anchored, "anchored"),
            Range(anchored + 1, signed, "signed"),
            Range(signed + 1, self.last, "unprotected"),
        )
        return [part for part in parts if part.first <= part.last]


class Walk:
    """Takes the lines of one log in their order.

    Args:
        writer: whose log it must be.
        keys: public keys that are believed, by id.
        known: hashes that are known from outside, by sequence number: of anchors.
        acknowledged: the record that the head file names.
        log_ids: ids of the logs that anchors know for this writer.
    """

    def __init__(
        self,
        writer: str,
        *,
        keys: Mapping[str, bytes],
        known: Mapping[int, AbstractSet[str]],
        acknowledged: tuple[int, str] | None,
        log_ids: AbstractSet[str],
    ) -> None:
        self._writer: Final = writer
        self._keys: Final = keys
        self._known: Final = known
        self._acknowledged: Final = acknowledged
        self._log_ids: Final = log_ids
        self._head: Head | None = None
        self._runs: list[_Run] = []
        self._spoilt = 0
        self._findings: list[Finding] = []
        self._records = self._dropped = self._repaired = self._torn_bytes = 0
        self._first_at: str | None = None
        self._last_at: str | None = None
        self._used_keys: dict[str, None] = {}
        self._checkpoint: AnchoredHead | None = None

    def take(self, line: Line) -> None:
        """Take the next line."""
        torn, text = split_line(line.content)
        try:
            record = record_of(text)
        except NotARecordError:
            if line.ended:
                self._spoilt += 1
                self._find("not_a_record", self._next(), line)
            else:
                self._torn_bytes += len(line.content)
            return
        if record.writer != self._writer:
            self._find("foreign_record", record.sequence, line)
            return
        if not repairs(record, torn):
            self._find("torn_mismatch", record.sequence, line)
        if line.sequence is not None and (line.sequence, line.hash) != (record.sequence, record.hash):
            self._find("row_mismatch", record.sequence, line)
        self._place(record, line)
        self._read(record, line)

    def finish(self) -> WriterReport:
        """What was found, once all lines are taken."""
        head = self._head
        last = 0 if head is None else head.sequence
        outside = max(self._known, default=0)
        noted = 0 if self._acknowledged is None else self._acknowledged[0]
        if head is None and (outside or noted):
            self._findings.append(Finding("missing_writer", self._writer))
        elif last < max(outside, noted):
            self._findings.append(Finding("truncated", self._writer, last + 1, max(outside, noted)))
        elif head is not None and self._log_ids - {head.log_id}:
            self._findings.append(Finding("spliced", self._writer))
        return WriterReport(
            writer=self._writer,
            log_id=None if head is None else head.log_id,
            records=self._records,
            first_at=self._first_at,
            last_at=self._last_at,
            ranges=tuple(part for run in self._runs for part in run.ranges()),
            findings=tuple(self._findings),
            dropped=self._dropped,
            repaired=self._repaired,
            torn_bytes=self._torn_bytes,
            keys=tuple(self._used_keys),
            checkpoint=self._checkpoint,
        )

    def _place(self, record: AuditRecord, line: Line) -> None:
        """Whether the record follows the one before."""
        head, spoilt = self._head, self._spoilt
        if head is not None and record.sequence <= head.sequence:
            self._find("out_of_order", record.sequence, line)
            return
        self._spoilt = 0
        follows = record.prev_hash == (GENESIS if head is None else head.hash)
        expected = self._next() + spoilt
        rotated = head is not None and record.segment != head.segment
        if record.segment != line.segment:
            self._find("wrong_segment", record.sequence, line)
        elif record.segment not in ((1,) if head is None else (head.segment, head.segment + 1)) and spoilt == 0:
            self._find("rotation_gap", record.sequence, line)
        if head is not None and record.log_id != head.log_id:
            self._find("spliced", record.sequence, line)
        elif record.sequence > expected:
            code = "missing_start" if head is None else "rotation_gap" if rotated else "gap"
            self._findings.append(Finding(code, self._writer, expected, record.sequence - 1, line.place))
        elif not follows and (spoilt == 0 or record.sequence < expected):
            self._find("chain_broken", record.sequence, line)
        # The very first write can have been cut off: then its repair comes first.
        if head is None and record.sequence == 1 and type(record.content) not in (WriterStarted, TornRepaired):
            self._find("missing_start", 1, line)
        if not self._runs or not follows:
            self._runs.append(_Run(record.sequence))
        self._runs[-1].last = record.sequence
        self._head = head_of(record)

    def _read(self, record: AuditRecord, line: Line) -> None:
        """Take what the record says of the log, and compare it with what is known of it."""
        self._records += 1
        self._first_at = self._first_at or record.at
        self._last_at = record.at
        content = record.content
        if type(content) is EventsDropped:
            self._dropped += content.count
        elif type(content) is TornRepaired:
            self._repaired += 1
        elif type(content) is WriterStarted and content.key_id not in self._keys:
            self._find("unknown_key", record.sequence, line)
        elif type(content) is Checkpoint:
            self._check(record, content, line)
        in_place = self._head is not None and self._head.hash == record.hash
        known = self._known.get(record.sequence)
        if known is not None and in_place:
            if known == {record.hash}:
                self._runs[-1].anchored = record.sequence
            else:
                self._find("anchor_mismatch", record.sequence, line)
        noted = self._acknowledged
        if noted is not None and in_place and noted[0] == record.sequence and noted[1] != record.hash:
            self._find("head_mismatch", record.sequence, line)

    def _check(self, record: AuditRecord, content: Checkpoint, line: Line) -> None:
        key = self._keys.get(content.key_id)
        if key is None:
            self._find("unknown_key", record.sequence, line)
            return
        statement = checkpoint_statement(
            writer=record.writer,
            log_id=record.log_id,
            segment=record.segment,
            sequence=record.sequence,
            at=record.at,
            prev_hash=record.prev_hash,
            key_id=content.key_id,
        )
        if not verifies(key, statement, content.signature):
            self._find("bad_signature", record.sequence, line)
            return
        self._used_keys[content.key_id] = None
        if self._runs and self._runs[-1].last == record.sequence:
            self._runs[-1].signed = record.sequence
            self._checkpoint = AnchoredHead(record.writer, record.log_id, record.sequence, record.hash)

    def _next(self) -> int:
        return 1 if self._head is None else self._head.sequence + 1

    def _find(self, code: str, sequence: int | None, line: Line) -> None:
        self._findings.append(Finding(code, self._writer, sequence, None, line.place))
