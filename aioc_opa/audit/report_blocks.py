"""The parts that a report is made of. What a part says is decided once; HTML and Markdown only write it down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.core.audit_report.timeline import Bars

Level = Literal["good", "warn", "bad", "plain"]
Look = Literal["allow", "approval_required", "deny", "neutral"]

WIDTH: Final = 1000
"""Units of a row's bar."""

_LEAST: Final = 6
"""Units that a part which is not nothing takes at least."""


@dataclass(frozen=True, slots=True)
class Data:
    """A text out of the log, already made visible (`core.audit_report.visible`); set apart from our own words."""

    text: str


Cell = str | int | Data


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a bar: where it begins, how long it is (of `WIDTH`), and its colour."""

    start: int
    length: int
    look: Look


@dataclass(frozen=True, slots=True)
class Bar:
    """A row's bar.

    Attributes:
        label: what it says, in words.
        segments: rising.
    """

    label: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that must be seen."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Tiles:
    """Numbers at a glance: a label, a number as text, and what to add to it."""

    items: tuple[tuple[str, str, str, Look], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, with a bar in each row or none.

    Attributes:
        caption: what it shows.
        columns: headings; the first column names its row.
        rows: one cell a column.
        bars: one a row, or none at all.
        note: below the table.
        folded: shown on demand, where the page can do that.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bars: tuple[Bar, ...] = ()
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Outcomes over time, with the table of the same numbers.

    Attributes:
        caption: what it shows.
        bars: the counts.
        table: the same, to be read.
    """

    caption: str
    bars: Bars
    table: Table


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences, each on its own."""

    items: tuple[str, ...]


Block = Paragraph | Notice | Tiles | Table | TimeChart | Bullets


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it.

    Attributes:
        anchor: its id in the page.
        title: its heading.
        blocks: in their order.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A report.

    Attributes:
        title: of the page.
        lead: sentences below it.
        sections: in their order.
    """

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())


def stacked(counts: Sequence[int], looks: Sequence[Look], most: int, label: str) -> Bar:
    """A bar of several counts, as long as their sum is of `most`."""
    segments, start = [], 0
    for count, look in zip(counts, looks, strict=True):
        if count:
            length = max(_LEAST, WIDTH * count // max(most, 1))
            length = min(length, WIDTH - start)
            segments.append(Segment(start, length, look))
            start += length
    return Bar(label, tuple(segments))


def span(first: float, last: float, label: str) -> Bar:
    """A bar from one place to another; places are between 0 and 1."""
    start = min(int(WIDTH * max(first, 0.0)), WIDTH - _LEAST)
    end = min(int(WIDTH * last), WIDTH)
    return Bar(label, (Segment(start, max(end - start, _LEAST), "neutral"),))
