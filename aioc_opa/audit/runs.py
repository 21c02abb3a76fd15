"""Records that follow one another without a break, and how far signatures and anchors reach over them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.findings import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.audit.findings import Protection


class Run:
    """One such run.

    Args:
        first: its first sequence number.

    Attributes:
        last: its last one so far.
        signed: up to where a checkpoint covers it.
        anchored: up to where an anchor does.
    """

    def __init__(self, first: int) -> None:
        self.first: Final = first
        self.last = first
        self.signed = first - 1
        self.anchored = first - 1
        self._unvouched: list[tuple[int, int]] = []

    def not_vouched_for(self, first: int, last: int) -> None:
        """A writer goes on behind these records without having seen them written.

        What a checkpoint or an anchor already covers stays covered by it. What comes later covers none of them: it
        says what the writer found, and not what was written.
        """
        first = max(first, self.first, self.signed + 1, self.anchored + 1)
        last = min(last, self.last)
        if last < first:
            return
        if self._unvouched and self._unvouched[-1][1] >= first - 1:
            start, end = self._unvouched.pop()
            first, last = min(first, start), max(last, end)
        self._unvouched.append((first, last))

    def ranges(self) -> list[Range]:
        """The whole run, in parts that one sentence is true of."""
        found: list[Range] = []
        for part in self._parts():
            if found and (found[-1].protection, found[-1].vouched) == (part.protection, part.vouched):
                found[-1] = replace(found[-1], last=part.last)
            else:
                found.append(part)
        return found

    def _parts(self) -> Iterator[Range]:
        covered = max(self.signed, self.anchored)
        edges = {self.first, self.anchored + 1, covered + 1, self.last + 1}
        ends = dict(self._unvouched)
        edges |= {edge for first, last in self._unvouched for edge in (first, last + 1)}
        until = 0
        for first, following in pairwise(sorted(edges)):
            until = max(until, ends.get(first, 0))
            vouched = first > until
            protection: Protection = "unprotected"
            if vouched and first <= covered:
                protection = "anchored" if first <= self.anchored else "signed"
            yield Range(first, following - 1, protection, vouched=vouched)
