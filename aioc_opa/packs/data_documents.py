"""Merge the ``data.json`` files of a policy, each rooted at its folder, as OPA does in bundle mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, JsonLimits
from aioc_opa.core.strict_json import StrictJsonError, decode_object
from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue

DATA_LIMITS: Final = JsonLimits(max_bytes=128 * 1024 * 1024, max_depth=HARD_MAX_DEPTH, max_nodes=HARD_MAX_NODES)
"""Of one file. Larger tables are spread over several folders, or pushed to the server's data API."""


def decode_document(source: str, path: str, content: bytes) -> JsonObject:
    """Strict JSON object in the file at `path`: duplicate keys are refused, not resolved.

    Raises:
        PolicyLoadError: it is not.
    """
    try:
        return decode_object(content, DATA_LIMITS)
    except StrictJsonError as error:
        place = "".join(f"[{part!r}]" for part in error.path)
        raise PolicyLoadError(
            f"{source}: {path}: not a strict JSON object: ${place}: {error.message} ({error.code})"
        ) from error


def merge_documents(source: str, documents: Mapping[str, JsonObject]) -> JsonObject:
    """One document of all ``data.json`` files; `documents` maps path to content.

    Raises:
        PolicyLoadError: two files give the same value, or one gives a value where another gives an object.
    """
    root: JsonObject = {}
    for path, document in sorted(documents.items()):
        folder = path.split("/")[:-1]
        rooted: JsonObject = document
        for segment in reversed(folder):
            rooted = {segment: rooted}
        _merge(root, rooted, (), f"{source}: {path}")
    return root


def _merge(into: JsonObject, new: Mapping[str, JsonValue], at: tuple[str, ...], who: str) -> None:
    for key, value in new.items():
        if key not in into:
            into[key] = value
            continue
        present = into[key]
        if not (isinstance(present, dict) and isinstance(value, dict)):
            raise PolicyLoadError(f"{who}: data.{'.'.join((*at, key))} is given by another file already")
        _merge(present, value, (*at, key), who)


def value_at(data: Mapping[str, JsonValue], *path: str) -> JsonValue:
    """The value at `path`, or None where there is none."""
    value: JsonValue = dict(data) if not isinstance(data, dict) else data
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value
