"""One pass over the logs for both: what is counted is what was verified, line by line.

Verifying first and counting afterwards would count what somebody put there between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.reading import record_in
from aioc_opa.audit.verifier import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from aioc_opa.audit.findings import VerificationReport
    from aioc_opa.audit.sources import Line, LogSource
    from aioc_opa.core.audit.anchors import Anchor
    from aioc_opa.core.audit_report.collector import Figures

PROGRESS_LINES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    Attributes:
        figures: all counts.
        verification: None when no key was given.
        passed_over: lines that are no records, or another writer's; nothing of them was counted.
    """

    figures: Figures
    verification: VerificationReport | None
    passed_over: int

    @property
    def sound(self) -> bool:
        """Whether nothing was found. Without keys, whether every line is a record."""
        return not self.passed_over and (self.verification is None or self.verification.sound)


class _Counted:
    """A source that counts what others read from it. See `LogSource`."""

    def __init__(self, source: LogSource, figures: Figures, progress: Callable[[int], None]) -> None:
        self._source: Final = source
        self._figures: Final = figures
        self._progress: Final = progress
        self._read = 0
        self.passed_over = 0

    def writers(self) -> list[str]:
        return self._source.writers()

    def acknowledged(self, writer: str) -> tuple[int, str] | None:
        return self._source.acknowledged(writer)

    def lines(self, writer: str, after: int = 0) -> Iterator[Line]:
        for line in self._source.lines(writer, after):
            self._read += 1
            if self._read % PROGRESS_LINES == 0:
                self._progress(self._read)
            self._count(line, writer)
            yield line

    def _count(self, line: Line, writer: str) -> None:
        record = record_in(line)
        if record is None:
            # A last line without its end may still be being written.
            self.passed_over += line.end != "open"
        elif record.writer == writer:
            self._figures.take(record)
        else:
            self.passed_over += 1


def read(
    source: LogSource,
    figures: Figures,
    *,
    keys: Mapping[str, bytes] | None,
    anchors: Sequence[Anchor] = (),
    expected_writers: Collection[str] = (),
    progress: Callable[[int], None],
) -> Reading:
    """Read every log of a source once.

    Args:
        source: the logs.
        figures: takes the records, and holds the period.
        keys: public keys that are believed, by id; None to verify nothing.
        anchors: for the verification.
        expected_writers: likewise.
        progress: told the number of lines, every `PROGRESS_LINES`.

    Raises:
        InputFileError: the source cannot be read.
        ConfigurationError: the extra `approvals` is not installed.
    """
    counted = _Counted(source, figures, progress)
    if keys is None:
        for writer in counted.writers():
            for _ in counted.lines(writer):
                pass
        return Reading(figures, None, counted.passed_over)
    verification = verify(counted, keys, anchors=anchors, expected_writers=expected_writers)
    return Reading(figures, verification, counted.passed_over)
