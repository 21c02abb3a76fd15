"""Counts by name that stay small whoever makes up the names: heavy ones are kept, the lightest are given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_NAMES: Final = 10_000
"""Names that one table keeps while it counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """One name.

    Attributes:
        name: as the log has it.
        counts: one for each kind.
    """

    name: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """Of all kinds."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Top:
    """The names with the highest counts.

    Attributes:
        rows: falling by total, then by name.
        others: counts of all other names together.
        other_names: how many those are; where `exact` is false, at most.
        exact: false when names had to be given up on the way: then a row's counts are at least these.
    """

    rows: tuple[Row, ...]
    others: tuple[int, ...]
    other_names: int
    exact: bool

    @property
    def totals(self) -> tuple[int, ...]:
        """Of all names, each kind; exact in any case."""
        return tuple(sum(column) for column in zip(self.others, *(row.counts for row in self.rows), strict=True))


class Tallies:
    """Counts by name and kind.

    Args:
        kinds: how many kinds there are.
        capacity: names that are kept. When there are more, the half with the lowest counts goes into the rest.
    """

    def __init__(self, kinds: int, capacity: int = MAX_NAMES) -> None:
        self._kinds: Final = kinds
        self._capacity: Final = capacity
        self._counts: dict[str, list[int]] = {}
        self._rest = [0] * kinds
        self._given_up = 0

    def add(self, name: str, kind: int = 0) -> None:
        """Count one."""
        counts = self._counts.get(name)
        if counts is None:
            if len(self._counts) >= self._capacity:
                self._give_up()
            counts = self._counts[name] = [0] * self._kinds
        counts[kind] += 1

    def top(self, limit: int) -> Top:
        """The `limit` names with the highest totals, and the rest."""
        ordered = sorted(self._counts.items(), key=_heaviest)
        rest = list(self._rest)
        for _, counts in ordered[limit:]:
            _add(rest, counts)
        rows = tuple(Row(name, tuple(counts)) for name, counts in ordered[:limit])
        return Top(rows, tuple(rest), len(ordered[limit:]) + self._given_up, not self._given_up)

    def _give_up(self) -> None:
        ordered = sorted(self._counts.items(), key=_heaviest)
        for name, counts in ordered[self._capacity // 2 :]:
            _add(self._rest, counts)
            del self._counts[name]
            self._given_up += 1


def _heaviest(item: tuple[str, list[int]]) -> tuple[int, str]:
    return -sum(item[1]), item[0]


def _add(into: list[int], counts: list[int]) -> None:
    for kind, count in enumerate(counts):
        into[kind] += count
