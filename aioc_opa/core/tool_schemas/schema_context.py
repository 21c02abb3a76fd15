"""Which parameters of pydantic's error messages stand in the compiled schema, and so cannot be a rejected value.

The type of an error does not show it: a validator may raise a known one with a value as its limit
(``PydanticKnownError("less_than", {"lt": value})``). So a parameter is shown only if the core schema says the very
same; any other becomes an ellipsis.
"""

from __future__ import annotations

import decimal
import enum
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.tool_schemas.core_schema_parts import parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LIMITS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "max_digits", "decimal_places",
)  # fmt: skip
_CONTAINERS: Final = frozenset({"List", "Tuple", "Dictionary"})
_PLAIN: Final = (str, int, float, decimal.Decimal)


class SchemaContext:
    """What one tool's schema lets an error message say."""

    def __init__(self, core_schema: Any) -> None:
        """Collect it.

        Args:
            core_schema: what `TypeAdapter.core_schema` gives.
        """
        self._said: dict[str, set[str]] = {"field_type": set(_CONTAINERS)}
        seen: set[int] = set()
        ahead: list[Mapping[str, Any]] = [core_schema]
        while ahead:
            schema = ahead.pop()
            if id(schema) not in seen:
                seen.add(id(schema))
                for key, text in _sayings(schema):
                    self._said.setdefault(key, set()).add(text)
                ahead.extend(part for part, _ in parts(schema, ()))

    def sentence(self, template: str, context: Mapping[str, Any]) -> str:
        """Pydantic's `template` of a message, filled with what the schema says of `context`."""
        known = {
            key: value
            for key, value in context.items()
            if type(value) in _PLAIN and str(value) in self._said.get(key, ())
        }
        return template.format_map(_Unsaid(known))


class _Unsaid(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "(s)" if key == "expected_plural" else "…"


def _sayings(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Parameters of messages with their texts, as pydantic writes them; one that it writes otherwise is not shown."""
    for key in _LIMITS:
        if type(value := schema.get(key)) in _PLAIN:
            yield key, str(value)
            if type(value) is int:
                yield key, str(float(value))  # the limit of a float
    match schema.get("type"):
        case "date" if schema.keys() & {"ge", "gt", "le", "lt"}:
            yield from ((key, str(schema[key])) for key in ("ge", "gt", "le", "lt") if key in schema)
        case "decimal" if "max_digits" in schema and "decimal_places" in schema:
            yield "whole_digits", str(schema["max_digits"] - schema["decimal_places"])
        case "literal":
            yield "expected", _one_of(schema["expected"])
        case "enum":
            yield "expected", _one_of([member._value_ for member in schema["members"]])
        case "tagged-union":
            yield "expected_tags", ", ".join(_quoted(tag) for tag in schema["choices"])
            if isinstance(schema["discriminator"], str):
                yield "discriminator", repr(schema["discriminator"])
        case "model" | "dataclass":
            yield "class_name", schema.get("cls_name", schema["cls"].__name__)
        case "uuid" if "version" in schema:
            yield "expected_version", str(schema["version"])


def _one_of(values: Sequence[Any]) -> str:
    texts = [_quoted(value) for value in values]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _quoted(value: object) -> str:
    # A str in an Enum is quoted as the str; `repr` of other objects is code of the application.
    if isinstance(value, enum.Enum) or not (value is None or type(value) in (*_PLAIN, bool)):
        return "…"
    return repr(value)
