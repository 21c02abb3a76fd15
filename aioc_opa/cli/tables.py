"""Tables whose words stay whole: a name that is broken in its middle cannot be searched for, and not be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.measure import Measurement

from aioc_opa.cli.terminal import stdout_console

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Column, Table

_WIDEST: Final = 100_000


def say_table(table: Table) -> None:
    """Print a table on standard output.

    Lines break at blanks. A file or a pipe has as many columns as the longest words need. Only a terminal that is too
    narrow for them folds words, and then nothing of them is lost.
    """
    console = stdout_console()
    wide = console.options.update(width=_WIDEST)
    spans = [_span(console, wide, column) for column in table.columns]
    frame = Measurement.get(console, wide, table).maximum - sum(longest for _, longest in spans)
    least = frame + sum(word for word, _ in spans)
    if not console.is_terminal:
        console.width = max(console.width, least)
    room = console.width - least
    if room >= 0:
        for column, width in zip(table.columns, _widths(spans, room), strict=True):
            column.width = width
    console.print(table)


def _span(console: Console, wide: ConsoleOptions, column: Column) -> tuple[int, int]:
    """Columns of the longest word and of the longest line, the heading's included."""
    found = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    longest = max(1, column.min_width or 0, *(one.maximum for one in found))
    word = longest if column.no_wrap else max(1, column.min_width or 0, *(one.minimum for one in found))
    return word, longest


def _widths(spans: list[tuple[int, int]], room: int) -> list[int]:
    """The longest words' widths, and what is left shared out: who needs least gets it first."""
    widths = [word for word, _ in spans]
    for waiting, place in enumerate(sorted(range(len(spans)), key=lambda at: spans[at][1] - spans[at][0])):
        more = min(spans[place][1] - spans[place][0], room // (len(spans) - waiting))
        widths[place] += more
        room -= more
    return widths
