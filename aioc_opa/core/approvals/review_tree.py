"""A JSON value as a tree for people. It says everything that the value says, and can be read back.

::

    amount: 1200
    currency: "EUR"
    lines:
      [0]:
        sku: "A7"
      [1]: "gift"
    note: (text of 214 characters)
      > "Dear Bob, the first piece of"
      > "the next line of the same text"
    options: {}

Strings are JSON strings (`review_text.quoted`), keys too unless they are simple names; numbers are written as RFC 8785
writes them; a long text or one of several lines is the text of its ``>`` pieces, one after the other. A key that is
too long for a line stands in ``?`` pieces before its ``:``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.review_text import columns, concerns, quoted, tokens
from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonValue

DEFAULT_WIDTH: Final = 88
"""Columns of a piece of text."""

_BARE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_INDENT: Final = "  "
_MOST_PARTS: Final = 16
_LONGEST_PART: Final = 64


def tree(value: JsonValue, *, width: int = DEFAULT_WIDTH) -> Iterator[str]:
    """The lines of `value`; the entries of an object or array at the root stand at the margin."""
    if isinstance(value, (dict, list)) and value:
        yield from _entries(value, width)
        return
    yield from _labelled("", value, width)


def entry(label: str, value: JsonValue, *, width: int = DEFAULT_WIDTH) -> Iterator[str]:
    """The lines of `value` under a label that the caller has made safe."""
    yield from _labelled(f"{label}: ", value, width)


def scalar(value: JsonValue) -> str:
    """A value that fits on one line: a string, a number, a literal, ``{}`` or ``[]``."""
    return quoted(value) if isinstance(value, str) else canonical_text(value)


def pieces(text: str, *, width: int = DEFAULT_WIDTH) -> Iterator[str]:
    """`text` as JSON strings that follow one another: cut after line breaks and where `width` columns are full."""
    piece: list[str] = []
    taken = 0
    for character, token in zip(text, tokens(text, concerns(text)), strict=True):
        size = columns(token)
        if piece and taken + size > width:
            yield f'"{"".join(piece)}"'
            piece, taken = [], 0
        piece.append(token)
        taken += size
        if character == "\n":
            yield f'"{"".join(piece)}"'
            piece, taken = [], 0
    if piece:
        yield f'"{"".join(piece)}"'


def place(path: tuple[str | int, ...], *, whole: bool = False) -> str:
    """A path as ``$.lines[0]["odd key"]``.

    Args:
        path: keys and indexes from the root.
        whole: else what leads to the last key is cut, and says so, where it is long. A page has many places, and all
            of one long key over them: nobody could read it, nor wait for it.
    """
    most = len(path) if whole else _MOST_PARTS
    before, after, left = path[:-1], path[:0], ""
    if len(path) > most:
        half = most // 2
        before, after = path[:half], path[-half:-1]
        left = f"[...{len(path) - 2 * half} more levels...]"
    parts = [_part(part, whole=whole) for part in before]
    parts += [left, *(_part(part, whole=whole) for part in after), *(_part(part, whole=True) for part in path[-1:])]
    return "$" + "".join(parts)


def _part(part: str | int, *, whole: bool) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if not whole and len(part) > _LONGEST_PART:
        return f"[{quoted(part[:_LONGEST_PART])}... of {len(part)} characters]"
    return f".{part}" if _simple(part) else f"[{quoted(part)}]"


def _simple(key: str) -> bool:
    return _BARE.fullmatch(key) is not None


def _entries(value: dict[str, JsonValue] | list[JsonValue], width: int) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _labelled(f"[{index}]: ", item, width)
        return
    for key, item in value.items():
        if _simple(key):
            yield from _labelled(f"{key}: ", item, width)
            continue
        written = quoted(key)
        if columns(written) <= width:
            yield from _labelled(f"{written}: ", item, width)
            continue
        yield from (f"? {piece}" for piece in pieces(key, width=width))
        yield from _labelled(": ", item, width)


def _labelled(label: str, value: JsonValue, width: int) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield label.rstrip()
        yield from (_INDENT + line for line in _entries(value, width))
        return
    written = scalar(value)
    if isinstance(value, str) and (columns(written) > width or "\n" in value[:-1]):
        yield f"{label}(text of {len(value)} characters)"
        yield from (f"{_INDENT}> {piece}" for piece in pieces(value, width=width))
        return
    yield f"{label}{written}"
