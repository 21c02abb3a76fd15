"""Where, in what a reviewer is shown, there are characters that need attention (`review_text`)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.review_text import HARMLESS, Concern, concerns, is_normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonValue

_MOST_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Characters of one kind in one text.

    Attributes:
        source: which text: ``action``, ``requested`` or the name of a field.
        path: of the value in it, as keys and indexes from the root.
        in_key: whether it is the key itself, the last of `path`, that has them.
        concern: which kind.
        count: how many characters; 0 where it concerns the text as a whole.
        examples: the first few of them, different ones, as ``U+202E RIGHT-TO-LEFT OVERRIDE``.
    """

    source: str
    path: tuple[str | int, ...] = ()
    in_key: bool = False
    concern: Concern
    count: int = 0
    examples: tuple[str, ...] = ()

    @property
    def suspicious(self) -> bool:
        """Whether it can mislead; False for what is only listed."""
        return self.concern not in HARMLESS


def findings(source: str, value: JsonValue, path: tuple[str | int, ...] = ()) -> tuple[Finding, ...]:
    """All findings in the strings and keys of `value`, which stands at `path`, in its order."""
    return tuple(_walk(source, path, value))


def _walk(source: str, path: tuple[str | int, ...], value: JsonValue) -> Iterator[Finding]:
    if isinstance(value, str):
        yield from _of_text(source, path, value, in_key=False)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _of_text(source, (*path, key), key, in_key=True)
            yield from _walk(source, (*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(source, (*path, index), item)


def _of_text(source: str, path: tuple[str | int, ...], text: str, *, in_key: bool) -> Iterator[Finding]:
    grouped: dict[Concern, list[str]] = {}
    for character, concern in zip(text, concerns(text), strict=True):
        if concern is not None:
            grouped.setdefault(concern, []).append(character)
    for concern, characters in grouped.items():
        examples = tuple(_named(each) for each in list(dict.fromkeys(characters))[:_MOST_EXAMPLES])
        yield Finding(
            source=source, path=path, in_key=in_key, concern=concern, count=len(characters), examples=examples
        )
    if not is_normal(text):
        yield Finding(source=source, path=path, in_key=in_key, concern=Concern.NOT_NORMAL)


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
