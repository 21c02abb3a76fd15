"""Find the patterns that pydantic would run with Python's `re`.

That engine backtracks: `^(a+)+$` takes seconds on 25 characters and doubles with each one more, it holds the
interpreter meanwhile, and no deadline can interrupt it. Pydantic's own engine is Rust's `regex`, linear in the text,
but a compiled `re.Pattern` and `regex_engine="python-re"` go around it. The compiled core schema shows both, however
the annotation spelled them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.canonical_form.refusal import shown
from aioc_opa.core.tool_schemas.core_schema_parts import Place, parts

if TYPE_CHECKING:
    from collections.abc import Mapping

_Visit = tuple[Any, Place, bool]

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
            ahead.extend(reversed([(inner, at, python) for inner, at in parts(schema, place)]))
    return None


def _says_python(schema: Mapping[str, Any]) -> bool:
    return "python-re" in (schema.get("regex_engine"), (schema.get("config") or {}).get("regex_engine"))
