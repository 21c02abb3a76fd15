"""The way through a core schema, which is what pydantic compiles an annotation to, however that was spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Place = tuple[str, ...]

# What holds values of the application or rules for output; a field of one of these names is found under `fields`.
_NO_SCHEMA: Final = frozenset({
    "metadata", "serialization", "default", "expected", "config", "custom_error_context", "computed_fields",
})  # fmt: skip
_BY_NAME: Final = frozenset({"fields", "choices"})
_SEGMENTS: Final = {"items_schema": "[]", "values_schema": "[*]", "extras_schema": "[*]", "keys_schema": "{key}"}


def parts(schema: Mapping[str, Any], place: Place) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """The schemas right inside `schema`, each with its place; what a reference stands for is the caller's to find."""
    for key, value in schema.items():
        if key in _NO_SCHEMA:
            continue
        if isinstance(value, dict):
            if key not in _BY_NAME:
                yield value, (*place, *_segment(key))
                continue
            for name, inner in value.items():
                yield inner, ((*place, name) if key == "fields" else place)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                inner = item[0] if isinstance(item, tuple) else item  # a choice of a union may carry a label
                if isinstance(inner, dict):
                    yield inner, (*place, *_item_segment(key, index, inner))


def _segment(key: str) -> Place:
    return (_SEGMENTS[key],) if key in _SEGMENTS else ()


def _item_segment(key: str, index: int, item: Mapping[str, Any]) -> Place:
    if key == "items_schema":  # of a tuple
        return (f"[{index}]",)
    return (item["name"],) if key == "fields" else ()  # of a dataclass
