"""Writing to a terminal: what comes from data cannot move the cursor, set colours, hide or reorder text.

A tool's name, a policy's sentence or a path in the arguments comes from others. `shown` writes every control,
format (bidirectional, zero-width), surrogate, private or unassigned character as an escape; JSON goes out in ASCII.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonValue

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode general categories that a reader does not see, or that change how others are seen."""

_MIN_WIDTH: Final = 100
"""Columns of a table that goes to a file or a pipe."""

LONGEST: Final = 400
"""Characters of one piece of data in a line for people. `--json` has the whole."""


def shown(text: object, longest: int = LONGEST) -> str:
    """`text` on one line, with everything that a terminal could act on written as a ``u`` escape."""
    cut = str(text)
    if len(cut) > longest:
        cut = cut[:longest] + "…"
    return escaped(cut)


def escaped(text: str) -> str:
    """`text`, whole, with every character that a reader does not see, or that acts on others, as an escape."""
    return "".join(_escaped(character) for character in text)


def cell(text: object) -> Text:
    """`shown` for a table: no markup is read from it."""
    return Text(shown(text))


def json_line(document: Mapping[str, object] | JsonValue) -> str:
    """`document` as one line of ASCII JSON, without control characters."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def say(text: str) -> None:
    """A line on standard output. Data in it has gone through `shown`."""
    typer.echo(text)


def warn(text: str) -> None:
    """A line on standard error."""
    typer.echo(f"aioc-opa: {text}", err=True)


def terminal_columns() -> int | None:
    """Columns of the terminal that somebody sits at, also where standard output goes through a pager; None: none."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):  # a pipe, a file, or a stream that is none
            continue
        if columns > 0:
            return columns
    return None


def stdout_console() -> Console:
    """For tables. Neither markup nor emoji codes are read from text."""
    console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _MIN_WIDTH)
    return console


def stderr_console() -> Console:
    """For progress: quiet where it is no terminal."""
    return Console(file=sys.stderr, markup=False, emoji=False, highlight=False)


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the end of the first plane
