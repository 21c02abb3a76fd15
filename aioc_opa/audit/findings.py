"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from aioc_opa.core.audit.anchors import Anchor, AnchoredHead

Protection = Literal["anchored", "signed", "unprotected"]
"""``anchored``: known outside the log. ``signed``: whoever has the writer's key could write it anew. ``unprotected``:
anybody who can write the log could."""

MEANING: Final = {
    "not_a_record": "what stands there is no record, or was changed",
    "not_a_file": "a pipe, a link or something else stands where a file should",
    "foreign_record": "the record is another writer's",
    "spliced": "the record is of another log of a writer of this name",
    "missing_start": "the log does not begin with its first record",
    "gap": "records are missing",
    "rotation_gap": "a file, or the end or the beginning of one, is missing",
    "chain_broken": "the record does not follow the one before it",
    "out_of_order": "the record has been written before, or stands in the wrong place",
    "wrong_segment": "the record stands in another file than it was written to",
    "torn_mismatch": "bytes of a torn write are not those that the record after them speaks of",
    "unknown_key": "a key that is not among the given ones",
    "bad_signature": "the signature is not of this checkpoint",
    "key_of_another_writer": "the key may sign for other writers, and not for this one",
    "key_not_announced": "the key is not the one that the writer announced when it started",
    "anchor_mismatch": "the anchor knows another record at this place",
    "head_mismatch": "the head file knows another record at this place",
    "truncated": "the log ends before a record that is known to have been there",
    "missing_writer": "there is no log of this writer",
    "head_unreadable": "the head file is not what was written",
    "row_mismatch": "the row's columns are not those of its record",
}
"""What each code says, for people."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that should not be so.

    Attributes:
        code: a key of `MEANING`.
        writer: whose log.
        sequence: the record, or the first of those that are missing; None where it is not known.
        last: the last of those that are missing.
        place: file and line, or row.
    """

    code: str
    writer: str
    sequence: int | None = None
    last: int | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """Records that one sentence is true of.

    Attributes:
        first: sequence number.
        last: sequence number.
        protection: against whoever can write the log.
        vouched: False where a writer went on behind records that it does not vouch for: a crash, or anybody who can
            write the log, left them there. They stay unprotected, whatever covers them later.
    """

    first: int
    last: int
    protection: Protection
    vouched: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterReport:
    """One writer's log.

    Attributes:
        writer: name.
        log_id: of the chain; None when there is no record.
        records: that were read.
        first_at: time of the first, RFC 3339.
        last_at: time of the last.
        ranges: rising, without overlap.
        findings: in the order of the log.
        dropped: events that the log says it does not have, at most.
        repaired: writes that were cut off and repaired.
        repaired_bytes: bytes of those, which still stand in the log.
        torn_bytes: bytes after the last whole record; the writer repairs them when it goes on.
        keys: ids of the keys that signed.
        checkpoint: the last one whose signature is right.
    """

    writer: str
    log_id: str | None
    records: int
    first_at: str | None
    last_at: str | None
    ranges: tuple[Range, ...]
    findings: tuple[Finding, ...]
    dropped: int
    repaired: int
    repaired_bytes: int
    torn_bytes: int
    keys: tuple[str, ...]
    checkpoint: AnchoredHead | None = None


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """All logs of a source.

    Attributes:
        writers: one for each, sorted by name; writers that are missing have one too.
        compared: the anchors that the logs were compared with.
        not_before: the latest anchor of each writer must not be older, RFC 3339 in UTC; None asks for nothing.
    """

    writers: tuple[WriterReport, ...]
    compared: tuple[Anchor, ...] = ()
    not_before: str | None = None

    @property
    def anchors(self) -> int:
        """How many anchors were compared."""
        return len(self.compared)

    @property
    def too_old(self) -> bool:
        """Whether even the latest anchor of some writer is older than was asked for.

        A newer one may have been left out; or it does not name the writer, whose log was away when it was taken.
        """
        latest: dict[str, str] = {}
        for anchor in self.compared:
            for head in anchor.heads:
                latest[head.writer] = max(latest.get(head.writer, ""), anchor.at)
        return self.not_before is not None and min(latest.values(), default="") < self.not_before

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all writers."""
        return tuple(finding for writer in self.writers for finding in writer.findings)

    @property
    def checkpoints(self) -> tuple[AnchoredHead, ...]:
        """The last one of each writer that has one: what an anchor names."""
        return tuple(writer.checkpoint for writer in self.writers if writer.checkpoint is not None)

    @property
    def sound(self) -> bool:
        """Whether nothing was found, and the anchors are as new as was asked for."""
        return not self.findings and not self.too_old
