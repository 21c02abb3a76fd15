"""Lines of a page, folded to the columns of a terminal before it folds them itself.

What a terminal wraps goes on at its margin, where the lines of ours begin: a text of the right length could put any
line there. So a line of data is cut here, and its rest stands behind a mark that no data can contain.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.review_page import GUTTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONTINUED: Final = "\u2506 "
"""Begins the rest of a line of data. Box drawing, as `GUTTER`: it is escaped in data (`review_text`)."""

LEAST_COLUMNS: Final = 40
"""A terminal with fewer shows no page."""

_MARKS: Final = 3
"""Columns that are left for the marks of the last character (`review_text` escapes a larger pile)."""


def folded(lines: Iterable[str], *, columns: int) -> Iterator[str]:
    """`lines`, where those of data take at most `columns`.

    Without the marks at their beginning the parts of a line, put together, are the line. Characters whose width depends
    on the terminal (East Asian Ambiguous, Unicode Standard Annex 11) count as wide.

    Args:
        lines: of `review_page.page`. Ours, without data that could be long, are not folded: a hash can be copied.
        columns: of the terminal, `LEAST_COLUMNS` or more.
    """
    for line in lines:
        if line.startswith(GUTTER):
            yield from _fold(line, columns - _MARKS)
        else:
            yield line


def _fold(line: str, columns: int) -> Iterator[str]:
    if 2 * len(line) <= columns:
        yield line
        return
    start, taken = "", 0
    piece: list[str] = []
    for character in line:
        size = 2 if unicodedata.east_asian_width(character) in "WFA" else 1
        # A mark stays with the letter that it stands on.
        if taken + size > columns and not unicodedata.category(character).startswith("M"):
            yield start + "".join(piece)
            start, taken, piece = CONTINUED, len(CONTINUED) + 1, []
        piece.append(character)
        taken += size
    yield start + "".join(piece)
