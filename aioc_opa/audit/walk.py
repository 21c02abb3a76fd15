"""One pass over one writer's log: what breaks the chain, and how far signatures and anchors reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.findings import Finding, WriterReport
from aioc_opa.audit.log_folder import repairs, split_line
from aioc_opa.audit.reading import record_in
from aioc_opa.audit.runs import Run
from aioc_opa.audit.signatures import Signatures
from aioc_opa.core.audit.anchors import AnchoredHead
from aioc_opa.core.audit.chain import GENESIS, Head, head_of
from aioc_opa.models.audit_record import Checkpoint, EventsDropped, Resumed, TornRepaired, WriterStarted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from aioc_opa.audit.keys import PublicKeys
    from aioc_opa.audit.sources import Line
    from aioc_opa.models.audit_record import AuditRecord


class Walk:
    """Takes the lines of one log in their order.

    Args:
        writer: whose log it must be.
        keys: whom to believe, and for whom.
        known: hashes that are known from outside, by sequence number: of anchors.
        acknowledged: the record that the head file names.
        log_ids: ids of the logs that anchors know for this writer.
    """

    def __init__(
        self,
        writer: str,
        *,
        keys: PublicKeys,
        known: Mapping[int, AbstractSet[str]],
        acknowledged: tuple[int, str] | None,
        log_ids: AbstractSet[str],
    ) -> None:
        self._writer: Final = writer
        self._signatures: Final = Signatures(writer, keys)
        self._known: Final = known
        self._acknowledged: Final = acknowledged
        self._log_ids: Final = log_ids
        self._head: Head | None = None
        self._runs: list[Run] = []
        self._spoilt = 0
        self._findings: list[Finding] = []
        self._records = self._dropped = self._repaired = self._repaired_bytes = self._torn_bytes = 0
        self._before_opening = 0
        self._first_at: str | None = None
        self._last_at: str | None = None
        self._checkpoint: AnchoredHead | None = None

    def take(self, line: Line) -> None:
        """Take the next line."""
        record = record_in(line)
        if record is None:
            if line.end == "open":
                self._torn_bytes += len(line.content)
            else:
                self._spoilt += 1
                self._find("not_a_file" if line.end == "no_file" else "not_a_record", self._next(), line)
            return
        if record.writer != self._writer:
            self._find("foreign_record", record.sequence, line)
            return
        if not repairs(record, split_line(line.content)[0]):
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
            repaired_bytes=self._repaired_bytes,
            torn_bytes=self._torn_bytes,
            keys=tuple(self._signatures.used),
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
            self._runs.append(Run(record.sequence))
        self._runs[-1].last = record.sequence
        self._head = head_of(record)

    def _read(self, record: AuditRecord, line: Line) -> None:
        """Take what the record says of the log, and compare it with what is known of it."""
        self._records += 1
        self._first_at = self._first_at or record.at
        self._last_at = record.at
        content = record.content
        in_place = self._head is not None and self._head.hash == record.hash
        if type(content) is EventsDropped:
            self._dropped += content.count
        elif type(content) is TornRepaired:
            self._repaired += 1
            self._repaired_bytes += content.length
        elif type(content) is Resumed and in_place:
            self._runs[-1].not_vouched_for(content.first, min(content.last, record.sequence - 1))
        elif type(content) is WriterStarted:
            problem = self._signatures.announced(content)
            if problem is not None:
                self._find(problem, record.sequence, line)
            if in_place:  # whether it says so or not: a process that starts has seen nothing of what was there written
                self._runs[-1].not_vouched_for(1, self._before_opening)
        elif type(content) is Checkpoint:
            self._check(record, content, line, in_place=in_place)
        if in_place and type(content) not in {TornRepaired, Resumed}:
            self._before_opening = record.sequence
        known = self._known.get(record.sequence)
        if known is not None and in_place:
            if known == {record.hash}:
                self._runs[-1].anchored = record.sequence
            else:
                self._find("anchor_mismatch", record.sequence, line)
        noted = self._acknowledged
        if noted is not None and in_place and noted[0] == record.sequence and noted[1] != record.hash:
            self._find("head_mismatch", record.sequence, line)

    def _check(self, record: AuditRecord, content: Checkpoint, line: Line, *, in_place: bool) -> None:
        problem = self._signatures.problem(record, content)
        if problem is not None:
            self._find(problem, record.sequence, line)
        elif in_place:
            self._runs[-1].signed = record.sequence
            self._checkpoint = AnchoredHead(record.writer, record.log_id, record.sequence, record.hash)

    def _next(self) -> int:
        return 1 if self._head is None else self._head.sequence + 1

    def _find(self, code: str, sequence: int | None, line: Line) -> None:
        self._findings.append(Finding(code, self._writer, sequence, None, line.place))
