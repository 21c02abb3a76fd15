"""A report as one HTML page: no script, nothing from outside, and a policy in the page that lets neither in.

Every text goes through `html.escape` at the one place where it is written.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.report_blocks import Bullets, Data, Notice, Paragraph, Table, Tiles, TimeChart
from aioc_opa.audit.report_charts import bar_svg, legend, time_svg
from aioc_opa.audit.report_style import STYLE
from aioc_opa.core.audit_report.visible import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.audit.report_blocks import Block, Cell, Page

POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    + "'"
)
"""The page's Content-Security-Policy: its own style sheet, by its digest, and nothing else at all."""

_LEVELS: Final = {"good": "✓", "warn": "⚠", "bad": "✗", "plain": ""}
_WHEN: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?")


def html_text(page: Page) -> str:
    """The page."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    title = escape(page.title)
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title>"
    yield f"<style>{STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield "<main>"
    yield f"<h1>{title}</h1>"
    yield from (f'<p class="lead">{escape(sentence)}</p>' for sentence in page.lead)
    links = "".join(f'<a href="#{each.anchor}">{escape(each.title)}</a>' for each in page.sections)
    yield f'<nav aria-label="Sections">{links}</nav>'
    for section in page.sections:
        yield f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">'
        yield f'<h2 id="{section.anchor}-title">{escape(section.title)}</h2>'
        for block in section.blocks:
            yield from _block(block)
        yield "</section>"
    yield "</main>"
    yield "</body>"
    yield "</html>"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield f"<p>{escape(block.text)}</p>"
    elif isinstance(block, Notice):
        sign = f'<b aria-hidden="true">{_LEVELS[block.level]}</b>'
        yield f'<p class="notice {block.level}">{sign}{escape(block.text)}</p>'
    elif isinstance(block, Tiles):
        yield '<div class="tiles">'
        for label, number, more, look in block.items:
            words = f"<strong>{escape(number)}</strong><span>{escape(label)}</span><small>{escape(more)}</small>"
            yield f'<div class="tile {look}">{words}</div>'
        yield "</div>"
    elif isinstance(block, Bullets):
        yield "<ul>"
        yield from (f"<li>{escape(item)}</li>" for item in block.items)
        yield "</ul>"
    elif isinstance(block, TimeChart):
        yield f"<figure><figcaption>{escape(block.caption)}</figcaption>"
        yield legend()
        yield time_svg(block)
        yield "</figure>"
        yield from _table(block.table)
    elif isinstance(block, Table):
        yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    caption = escape(table.caption)
    if table.folded:
        yield f"<details><summary>{caption}</summary>"
    yield '<div class="scroll"><table>'
    yield f"<caption>{caption}</caption>"
    yield f"<thead><tr>{''.join(_headings(table))}</tr></thead>"
    yield "<tbody>"
    for place, row in enumerate(table.rows):
        first, *others = row
        bar = f'<td class="bar">{bar_svg(table.bars[place])}</td>' if table.bars else ""
        yield f'<tr><th scope="row"{_kind(first)}>{_text(first)}</th>{bar}{"".join(map(_cell, others))}</tr>'
    yield "</tbody>"
    yield "</table></div>"
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'
    if table.folded:
        yield "</details>"


def _headings(table: Table) -> Iterator[str]:
    for place, column in enumerate(table.columns):
        numeric = place and table.rows and all(isinstance(row[place], int) for row in table.rows)
        kind = ' class="number"' if numeric else ""
        yield f'<th scope="col"{kind}>{escape(column)}</th>'
        if place == 0 and table.bars:
            yield '<th class="bar" aria-hidden="true"></th>'


def _cell(cell: Cell) -> str:
    return f"<td{_kind(cell)}>{_text(cell)}</td>"


def _kind(cell: Cell) -> str:
    if isinstance(cell, int):
        return ' class="number"'
    return ' class="when"' if isinstance(cell, str) and _WHEN.fullmatch(cell) else ""


def _text(cell: Cell) -> str:
    if isinstance(cell, Data):
        return f"<code><bdi>{escape(cell.text)}</bdi></code>"
    return escape(number_text(cell) if isinstance(cell, int) else cell)
