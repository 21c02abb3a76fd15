"""What the model asked for, where it differs from what would run: a structural difference of two JSON values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where the two differ.

    Attributes:
        path: keys and indexes from the root.
        kind: ``filled_in``, a member that the model left out and the tool's schema put in: its default, or what a
            validator of it computes; ``added``, an item of an array that was not asked for; ``dropped``, asked for and
            not in the action; ``changed``, both have it.
        requested: what was asked for; None also where there is nothing.
        parsed: what would run; likewise.
    """

    path: tuple[str | int, ...]
    kind: Literal["filled_in", "added", "dropped", "changed"]
    requested: JsonValue = None
    parsed: JsonValue = None


def differences(requested: JsonValue, parsed: JsonValue) -> tuple[Difference, ...]:
    """All differences, in the order of the action's keys, then of the requested ones.

    1 and 1.0 are one value, as in RFC 8785; true and 1 are two. Arrays are compared place by place.
    """
    return tuple(_compare((), requested, parsed))


def _compare(path: tuple[str | int, ...], requested: JsonValue, parsed: JsonValue) -> Iterator[Difference]:
    if isinstance(requested, dict) and isinstance(parsed, dict):
        for key, item in parsed.items():
            if key in requested:
                yield from _compare((*path, key), requested[key], item)
            else:
                yield Difference(path=(*path, key), kind="filled_in", parsed=item)
        for key, item in requested.items():
            if key not in parsed:
                yield Difference(path=(*path, key), kind="dropped", requested=item)
        return
    if isinstance(requested, list) and isinstance(parsed, list):
        for index, item in enumerate(parsed):
            if index < len(requested):
                yield from _compare((*path, index), requested[index], item)
            else:
                yield Difference(path=(*path, index), kind="added", parsed=item)
        for index in range(len(parsed), len(requested)):
            yield Difference(path=(*path, index), kind="dropped", requested=requested[index])
        return
    if not _same_scalar(requested, parsed):
        yield Difference(path=path, kind="changed", requested=requested, parsed=parsed)


def _same_scalar(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other
