"""A report as Markdown: tables and sentences; the bars are in the HTML page only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.report_blocks import Bullets, Data, Notice, Paragraph, Table, Tiles, TimeChart
from aioc_opa.core.audit_report.visible import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.audit.report_blocks import Block, Cell, Page

_SPECIAL: Final = re.compile(
    r"""(
      [\\`*\[\]<>|~${}^]               # marks, code, links, HTML, columns; mathematics and templates of extensions
    | (?<![A-Za-z0-9])_|_(?![A-Za-z0-9])  # emphasis begins and ends outside of words (CommonMark 6.2)
    | &(?=\#?[A-Za-z0-9]{1,32};)        # entities
    | :(?=//|[A-Za-z+-][\w+-]*:)        # addresses, and emoji by name
    | (?<=mailto):|(?<=xmpp):           # GitHub Flavored Markdown 6.9
    | @(?=\w)                           # mail, and whoever is called by a name
    | \#(?=\w)|^\#                     # issues and headings
    | (?<=[wW]{3})\.                   # sites
    | ([=+])(?=\2)|(?<=([=+]))\3       # highlights and insertions of extensions
    | ^[-+=](?=\s|[-+=])               # lists, rules and headings, where a text begins its line
    )""",
    re.VERBOSE,
)
"""What Markdown, its common extensions, or HTML inside it would read, where it would; ordinary text stays readable."""

_OURS: Final = re.compile(r"([\\*_\[\]<>|])")
"""Likewise in our own sentences, which have code in backticks, and no links."""

_LEVELS: Final = {"good": "✓ ", "warn": "⚠ ", "bad": "✗ ", "plain": ""}


def markdown_text(page: Page) -> str:
    """The report."""
    lines = [f"# {page.title}", ""]
    for sentence in page.lead:
        lines += [escaped(sentence), ""]
    for section in page.sections:
        lines += [f"## {section.title}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield _ours(block.text)
    elif isinstance(block, Notice):
        yield f"> {_LEVELS[block.level]}{_ours(block.text)}"
    elif isinstance(block, Tiles):
        yield from _table(("", "", ""), [(label, number, more) for label, number, more, _ in block.items])
    elif isinstance(block, Bullets):
        yield from (f"- {_ours(item)}" for item in block.items)
    elif isinstance(block, TimeChart):
        yield f"**{_ours(block.caption)}**"
        yield ""
        yield from _table(block.table.columns, list(block.table.rows))
    elif isinstance(block, Table):
        yield f"**{_ours(block.caption)}**"
        yield ""
        yield from _table(block.columns, list(block.rows))
        if block.note:
            yield ""
            yield _ours(block.note)


def _table(columns: tuple[str, ...], rows: list[tuple[Cell, ...]] | list[tuple[str, str, str]]) -> Iterator[str]:
    numeric = [bool(rows) and all(type(row[place]) is int for row in rows) for place in range(len(columns))]
    yield f"| {' | '.join(map(_ours, columns))} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numeric)} |"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Data):
        return escaped(cell.text)
    return number_text(cell) if isinstance(cell, int) else _ours(cell)


def escaped(text: str) -> str:
    """`text` as text. `visible` has taken every line's end and control character out of what is data."""
    return _SPECIAL.sub(r"\\\1", text)


def _ours(text: str) -> str:
    return _OURS.sub(r"\\\1", text)
