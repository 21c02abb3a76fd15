"""How a report shows texts, lengths of time and numbers."""

from __future__ import annotations

import json
from typing import Final

from aioc_opa.core.approvals.review_text import tokens

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_SECOND: Final = 1000


def visible(text: str, longest: int = 256) -> str:
    """`text` with everything that hides, reorders or imitates as an escape, as reviewers of approvals see it.

    A longer one is cut in its middle, and says so.
    """
    if len(text) > longest:
        half = longest // 2
        text_of_cut = f" …{len(text) - 2 * half} more characters… "
        return _honest(text[:half]) + text_of_cut + _honest(text[-half:])
    return _honest(text)


def revision_text(revision: str) -> str:
    """A policy revision, which is the JSON text of ``{bundle: revision}``, as ``bundle: revision``."""
    try:
        bundles = json.loads(revision)
    except (ValueError, RecursionError):  # of brackets alone, as a planted record can have it
        return visible(revision)
    if not isinstance(bundles, dict) or not all(isinstance(value, str) for value in bundles.values()):
        return visible(revision)
    return visible(", ".join(f"{bundle}: {name}" for bundle, name in bundles.items()))


def duration_text(milliseconds: int) -> str:
    """A length of time in its two largest units: ``3 min 20 s``."""
    if milliseconds < _SECOND:
        return f"{milliseconds} ms"
    seconds = milliseconds // _SECOND
    parts: list[str] = []
    for size, unit in _UNITS:
        number, seconds = divmod(seconds, size)
        if number or parts:
            parts.append(f"{number} {unit}")
    shown = parts[:2]
    return shown[0] if len(shown) == 1 or shown[1].startswith("0 ") else " ".join(shown)


def number_text(number: int) -> str:
    """With a thin space between thousands that does not break: ``12 345``."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str) -> str:
    """``1 vote``, ``2 votes``."""
    return f"{number_text(number)} {noun}" if number == 1 else f"{number_text(number)} {noun}s"


def share_text(part: int, whole: int) -> str:
    """Per cent with one decimal; a part that is not nothing is never shown as ``0.0 %``, nor all but one as all."""
    if not whole:
        return "-"
    tenths = round(1000 * part / whole)
    if tenths == 0 and part:
        return "<0.1 %"
    if tenths == 1000 and part < whole:  # noqa: PLR2004 - all of it, in tenths of a per cent
        return ">99.9 %"
    return f"{tenths // 10}.{tenths % 10} %"


def _honest(text: str) -> str:
    return "".join('"' if written == '\\"' else written for written in tokens(text))
