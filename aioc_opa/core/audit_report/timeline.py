"""Counts over time: in steps that grow with the span, so that any number of years fits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_DAY: Final = 86_400
STEPS: Final = (
    60,
    300,
    900,
    3600,
    3 * 3600,
    6 * 3600,
    *(_DAY * days for days in (1, 7, 28, 364, 3640, 36_400, 364_000)),
)
"""Seconds; each divides the next. The last ones are for logs whose clock was wrong: they take the years 1 to 9999."""

MAX_KEPT: Final = 4096
MOST_BARS: Final = 62
_MONDAY: Final = 4 * _DAY
"""1970-01-05: so steps of weeks begin on Mondays, and all others at midnight UTC."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -62_135_596_800
"""0001-01-01T00:00:00Z."""

_LAST: Final = 253_402_300_799
"""9999-12-31T23:59:59Z."""


def seconds_of(at: str) -> int | None:
    """Seconds since 1970 of an RFC 3339 time in UTC; None when there is no such time (a 31st of February)."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(seconds=1)


def milliseconds_between(start: str, end: str) -> int | None:
    """Milliseconds from one time to another; None when one of them is none."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)) // timedelta(milliseconds=1)
    except ValueError:
        return None


def text_of(seconds: int) -> str:
    """The time, to the minute, as ``2026-07-15 09:00``."""
    moment = _EPOCH + timedelta(seconds=max(_FIRST, min(seconds, _LAST)))
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts by step, without a gap.

    Attributes:
        start: of the first step, seconds since 1970.
        step: seconds.
        counts: of each step, one number a kind.
    """

    start: int
    step: int
    counts: tuple[tuple[int, ...], ...]


class Timeline:
    """Counts by time and kind.

    Args:
        kinds: how many kinds there are.
    """

    def __init__(self, kinds: int) -> None:
        self._kinds: Final = kinds
        self._step = 0
        self._counts: dict[int, list[int]] = {}

    def add(self, seconds: int, kind: int) -> None:
        """Count one at a time."""
        start = _start(seconds, STEPS[self._step])
        counts = self._counts.get(start)
        if counts is None:
            counts = self._counts[start] = [0] * self._kinds
        counts[kind] += 1
        while len(self._counts) > MAX_KEPT:
            self._coarsen()

    def bars(self, since: int | None = None, until: int | None = None) -> Bars | None:
        """At most `MOST_BARS` steps over everything counted, or over the period that is asked for.

        Args:
            since: first second of the period; None for the first that was counted.
            until: the second after the period; None for the last that was counted.

        Returns:
            None when nothing was counted.
        """
        if not self._counts:
            return None
        first = min(self._counts) if since is None else since
        last = max(self._counts) if until is None else until - 1
        while _steps(first, last, STEPS[self._step]) > MOST_BARS:
            self._coarsen()
        step = STEPS[self._step]
        start, nothing = _start(first, step), [0] * self._kinds
        starts = range(start, last + 1, step)
        return Bars(start, step, tuple(tuple(self._counts.get(each, nothing)) for each in starts))

    def _coarsen(self) -> None:
        self._step += 1
        step = STEPS[self._step]
        merged: dict[int, list[int]] = {}
        for start, counts in self._counts.items():
            into = merged.setdefault(_start(start, step), [0] * self._kinds)
            for kind, count in enumerate(counts):
                into[kind] += count
        self._counts = merged


def _start(seconds: int, step: int) -> int:
    return (seconds - _MONDAY) // step * step + _MONDAY


def _steps(first: int, last: int, step: int) -> int:
    return (_start(last, step) - _start(first, step)) // step + 1
