"""How long things took: counts by length, and where the middle lies, without keeping each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EDGES: Final = (
    (60_000, "up to 1 minute"),
    (600_000, "up to 10 minutes"),
    (3_600_000, "up to 1 hour"),
    (28_800_000, "up to 8 hours"),
    (86_400_000, "up to 1 day"),
)
"""Milliseconds, included."""

LONGER: Final = "longer than 1 day"
_FINE: Final = 16


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """What `Waits` has seen.

    Attributes:
        count: how many.
        by_length: a label and a count for each of `EDGES`, and one for what was longer.
        median_ms: half took at most so long, to one part in sixteen above; None when there is none.
        longest_ms: exact.
    """

    count: int
    by_length: tuple[tuple[str, int], ...]
    median_ms: int | None
    longest_ms: int | None


class Waits:
    """Takes times in milliseconds."""

    def __init__(self) -> None:
        self._by_length = [0] * (len(EDGES) + 1)
        self._fine: dict[int, int] = {}
        self._longest: int | None = None

    def add(self, milliseconds: int) -> None:
        """Count one. Clocks of two machines can make it negative: then it took no time."""
        value = max(0, milliseconds)
        place = next((place for place, (edge, _) in enumerate(EDGES) if value <= edge), len(EDGES))
        self._by_length[place] += 1
        fine = _fine(value)
        self._fine[fine] = self._fine.get(fine, 0) + 1
        self._longest = value if self._longest is None else max(self._longest, value)

    def summary(self) -> WaitSummary:
        """Of all so far."""
        count = sum(self._by_length)
        labels = [*(label for _, label in EDGES), LONGER]
        median, seen = None, 0
        for fine in sorted(self._fine):
            seen += self._fine[fine]
            if 2 * seen >= count:
                median = min(_most(fine), self._longest or 0)
                break
        return WaitSummary(count, tuple(zip(labels, self._by_length, strict=True)), median, self._longest)


def _fine(value: int) -> int:
    """Sixteen classes for each doubling, by whole numbers alone."""
    if value < _FINE:
        return value
    shift = value.bit_length() - 5
    return (shift + 1) * _FINE + (value >> shift) - _FINE


def _most(fine: int) -> int:
    """The largest value of a class."""
    if fine < _FINE:
        return fine
    shift, part = divmod(fine, _FINE)
    return ((part + _FINE + 1) << (shift - 1)) - 1
