"""Find the patterns that pydantic would run with Python's `re`.

That engine backtracks: `^(a+)+$` takes seconds on 25 characters and doubles with each one more, it holds the
interpreter meanwhile, and no deadline can interrupt it. Pydantic's own engine is Rust's `regex`, linear in the text,
but a compiled `re.Pattern` and `regex_engine="python-re"` go around it. The compiled core schema shows both, however
the annotation spelled them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.canonical_form.refusal import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Place = tuple[str, ...]
_Visit = tuple[Any, Place, bool]

# What holds values of the application or rules for output; a field of one of these names is found under `fields`.
_NO_SCHEMA: Final = frozenset({"metadata", "serialization", "default", "expected", "config", "custom_error_context"})
_BY_NAME: Final = frozenset({"fields", "choices"})
_SEGMENTS: Final = {"items_schema": "[]", "values_schema": "[*]", "extras_schema": "[*]", "keys_schema": "{key}"}

CURE: Final = (
    "its pattern runs in Python's re, which backtracks and which no deadline can interrupt: "
    'give the pattern as a str, and leave regex_engine at its default, "rust-regex"'
)


def python_pattern(core_schema: Any, names: Mapping[str, str]) -> str | None:
    """The place of the first pattern that runs in Python's `re`, as a person reads it; None if there is none.

    Args:
        core_schema: what `TypeAdapter.core_schema` gives.
        names: for a model with generated field names: what each is called outside.

    `regex_engine="python-re"` counts for all that lies below it. A nested class may go back to the default there, and
    is refused all the same: which kinds of class do is not promised by pydantic.
    """
    definitions: dict[str, Any] = {}
    ahead: list[_Visit] = [(core_schema, (), False)]
    seen: set[tuple[int, bool]] = set()
    while ahead:
        schema, place, python = ahead.pop()
        if (id(schema), python) in seen:
            continue
        seen.add((id(schema), python))
        python = python or _says_python(schema)
        pattern = schema.get("pattern")
        if pattern is not None and (python or type(pattern) is not str):
            return shown((names.get(place[0], place[0]), *place[1:]) if place else place)
        if "ref" in schema:
            definitions.setdefault(schema["ref"], schema)
        if schema.get("type") == "definitions":
            definitions |= {inner["ref"]: inner for inner in schema["definitions"]}
            ahead.append((schema["schema"], place, python))
        elif schema.get("type") == "definition-ref":
            ahead.append((definitions.get(schema["schema_ref"], {}), place, python))
        else:
            ahead.extend(reversed([(inner, at, python) for inner, at in _parts(schema, place)]))
    return None


def _says_python(schema: Mapping[str, Any]) -> bool:
    return "python-re" in (schema.get("regex_engine"), (schema.get("config") or {}).get("regex_engine"))


def _parts(schema: Mapping[str, Any], place: Place) -> Iterator[tuple[Mapping[str, Any], Place]]:
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
