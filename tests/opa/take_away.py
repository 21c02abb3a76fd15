"""Take things away from a policy or a call, one at a time (design 5)."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = Any

RANK = {"deny": 2, "approval_required": 1, "allow": 0}


def required_paths(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path that a needs schema requires: not optional keys, not entries of lists or of open objects."""
    for key in schema.get("required", []):
        yield (*path, key)
        yield from required_paths(schema["properties"][key], (*path, key))


def without(question: Json, path: tuple[str, ...]) -> Json | None:
    """The question without that context path; None where it has none."""
    changed = copy.deepcopy(question)
    place = changed["runContext"]["context"]
    for key in path[:-1]:
        place = place.get(key) if isinstance(place, dict) else None
    if not isinstance(place, dict) or path[-1] not in place:
        return None
    del place[path[-1]]
    return changed


def tables(folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Every data table of the policy: the keys of each data.json, and the keys below them, manifests left out."""
    for file in sorted(folder.rglob("data.json")):
        document = json.loads(file.read_text())
        for key, value in document.items():
            if key == "manifest":
                continue
            yield file, (key,)
            if isinstance(value, dict):
                for below in value:
                    yield file, (key, below)


def remove_key(file: Path, path: tuple[str, ...]) -> str:
    """Remove a key from a data.json; the text that was there."""
    text = file.read_text()
    document = json.loads(text)
    place = document
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    file.write_text(json.dumps(document))
    return text


def looser(before: list[Json], after: list[Json]) -> list[tuple[Json, Json]]:
    """The decisions that became looser. No answers at all are an engine's refusal: denies."""
    if not after:
        return []
    return [(old, new) for old, new in zip(before, after, strict=True) if RANK[new["decision"]] < RANK[old["decision"]]]
