"""Roots: the prefixes of ``data`` that a bundle owns. OPA lets nobody else write there, and no two bundles overlap.

https://www.openpolicyagent.org/docs/management-bundles#bundle-file-format (`roots`). A bundle that owns less than what
its packs read would leave a table to whoever may write to the data API, so paths that packs declare count as if they
were there.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue

Path: TypeAlias = tuple[str, ...]

SYSTEM = "system"
"""Below it OPA keeps things of its own (``data.system.bundles``): no bundle owns all of it."""


KEPT_BY_OPA: Final = (SYSTEM, "bundles")
"""Where OPA writes each bundle's manifest, and reads the revision that decisions name: no bundle writes there."""


def root_problem(roots: Collection[str]) -> str | None:
    """What is wrong with the roots of one bundle, in words; None when nothing is."""
    paths = [root_path(root) for root in roots]
    for root, path in zip(roots, paths, strict=True):
        if not path or "/".join(path) != root or ".." in path or "." in path:
            return "a root is segments with one slash between them, such as aioc/packs"
        if next(overlaps([path], [KEPT_BY_OPA]), None) is not None:
            return f"{'/'.join(KEPT_BY_OPA)} is OPA's own: no root may lie at, below or above it"
    for one, other in combinations(paths, 2):
        if next(overlaps([one], [other]), None) is not None:
            return "two roots of a bundle may not be the same, nor one below the other"
    return None


def root_path(root: str) -> Path:
    """The segments of a root as a manifest writes it."""
    return tuple(segment for segment in root.split("/") if segment)


def owns(roots: Iterable[Path], path: Path) -> bool:
    """Whether `path` lies at or below one of `roots`."""
    return any(path[: len(root)] == root for root in roots)


def overlaps(left: Iterable[Path], right: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Pairs of roots of which one lies at or below the other: what OPA refuses to activate together."""
    others = list(right)
    for one in left:
        for other in others:
            shorter = min(len(one), len(other))
            if one[:shorter] == other[:shorter]:
                yield one, other


def whole_roots(places: Iterable[Path]) -> tuple[Path, ...]:
    """The roots of a bundle that holds all of `places`: their first segments, and packages below ``system`` by name."""
    return _topmost({place if place[0] == SYSTEM else place[:1] for place in places if place})


def split_roots(places: Collection[Path], without: Collection[Path]) -> tuple[Path, ...]:
    """The shortest roots that own all of `places` but nothing at, below or above one of `without`.

    Args:
        places: what is there, or declared.
        without: what another bundle owns.
    """
    kept = [place for place in places if not owns(without, place)]
    found = set()
    for place in kept:
        for depth in range(1, len(place) + 1):
            prefix = place[:depth]
            if not any(other[:depth] == prefix for other in without):
                found.add(prefix if prefix[0] != SYSTEM else place)
                break
    return _topmost(found)


def _topmost(roots: Collection[Path]) -> tuple[Path, ...]:
    """Without those that lie below another: OPA refuses a bundle whose own roots overlap."""
    return tuple(sorted(root for root in roots if not any(root[:depth] in roots for depth in range(1, len(root)))))


def leaves(value: JsonValue, path: Path = ()) -> Iterator[Path]:
    """The paths of all values in a data document that are no objects, or are empty ones."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, (*path, key))
    else:
        yield path


def within(data: Mapping[str, JsonValue], roots: Collection[Path]) -> JsonObject:
    """The part of `data` at or below `roots`."""
    part: JsonObject = {}
    for key, value in data.items():
        below = [root[1:] for root in roots if root[:1] == (key,)]
        if () in below:
            part[key] = value
        elif below and isinstance(value, dict) and (inner := within(value, below)):
            part[key] = inner
    return part
