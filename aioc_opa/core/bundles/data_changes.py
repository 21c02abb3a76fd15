"""What differs between two JSON values, entry by entry, down to the values themselves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.core.json_value import JsonValue

Change: TypeAlias = Literal["added", "removed", "changed"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class DataChange:
    """One entry that differs.

    Attributes:
        change: what happened to it.
        path: where, as `path_text` writes it, below the values compared; empty for the values themselves.
        before: None, too, where nothing was: `change` tells it from null.
        after: None, too, where nothing is.
    """

    change: Change
    path: str
    before: JsonValue
    after: JsonValue


def data_changes(before: JsonValue, after: JsonValue, path: str = "") -> Iterator[DataChange]:
    """The entries that differ; none exactly when the RFC 8785 texts are equal.

    Objects are compared key by key, and lists of one length member by member. Of other lists, what is equal at their
    beginnings and ends is left out: ``[2:]`` are the members from index 2 on that differ.

    Raises:
        NotCanonicalError: a value has no canonical JSON.
    """
    if canonical_text(before) == canonical_text(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            place = path_text([key], path)
            if key not in before:
                yield DataChange("added", place, None, after[key])
            elif key not in after:
                yield DataChange("removed", place, before[key], None)
            else:
                yield from data_changes(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    else:
        yield DataChange("changed", path, before, after)


def path_text(segments: Sequence[str], path: str = "") -> str:
    """`segments` below `path`: with dots, and quoted where a segment is no plain word, so that no two paths look alike.

    What is not ASCII is written as an escape: a letter may look like another.
    """
    for segment in segments:
        if _PLAIN.fullmatch(segment):
            path += f".{segment}" if path else segment
        else:
            path += f"[{json.dumps(segment)}]"
    return path


def _list_changes(before: list[JsonValue], after: list[JsonValue], path: str) -> Iterator[DataChange]:
    old, new = ([canonical_text(member) for member in members] for members in (before, after))
    if len(old) == len(new):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from data_changes(one, other, f"{path}[{index}]")
        return
    shorter = min(len(old), len(new))
    start = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    end = next((index for index in range(shorter - start) if old[-1 - index] != new[-1 - index]), shorter - start)
    gone, come = before[start : len(old) - end], after[start : len(new) - end]
    change: Change = "changed" if gone and come else "removed" if gone else "added"
    yield DataChange(change, f"{path}[{start}:]", gone or None, come or None)
