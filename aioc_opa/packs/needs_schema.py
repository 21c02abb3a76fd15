"""The small part of JSON Schema in which a pack declares what it needs (design 5).

``type`` (a string or a list, ``"null"`` included), ``properties``, ``required``, ``items``, ``additionalProperties``,
``enum``. Stricter than JSON Schema where laxness would hide a mistake: a keyword about objects needs the type object,
``items`` the type array, ``required`` names must be in ``properties``, and an unknown keyword is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.packs.names import is_plain_text

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue

TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_KEYWORDS: Final = frozenset({"type", "properties", "required", "items", "additionalProperties", "enum", "description"})
_OBJECT_KEYWORDS: Final = ("properties", "required", "additionalProperties")
MAX_DEPTH: Final = 24


class NeedsSchemaError(ValueError):
    """A schema that is not of this small language.

    Attributes:
        path: where in the schema.
        problem: what is wrong there.
    """

    def __init__(self, path: tuple[str, ...], problem: str) -> None:
        super().__init__(f"{'.'.join(path) or 'schema'}: {problem}")
        self.path = path
        self.problem = problem


def check_needs_schema(schema: JsonValue, path: tuple[str, ...] = ()) -> JsonObject:
    """`schema`, known to be of the language.

    Raises:
        NeedsSchemaError: it is not.
    """
    if not isinstance(schema, dict):
        raise NeedsSchemaError(path, "a schema is an object")
    if len(path) > 2 * MAX_DEPTH:
        raise NeedsSchemaError(path, f"nested deeper than {MAX_DEPTH}")
    for keyword in schema:
        if keyword not in _KEYWORDS:
            raise NeedsSchemaError(path, f"keyword {keyword!r} is not one of {', '.join(sorted(_KEYWORDS))}")
    types = types_of(schema, path)
    for keyword in _OBJECT_KEYWORDS:
        if keyword in schema and "object" not in types:
            raise NeedsSchemaError(path, f"{keyword!r} needs the type object")
    if "items" in schema:
        if "array" not in types:
            raise NeedsSchemaError(path, "'items' needs the type array")
        check_needs_schema(schema["items"], (*path, "items"))
    _check_properties(schema, path)
    enum = schema.get("enum", [None])
    if not isinstance(enum, list) or not enum:
        raise NeedsSchemaError(path, "'enum' is a list of one value or more")
    if any(isinstance(value, dict | list) for value in enum):
        raise NeedsSchemaError(path, "'enum' holds strings, numbers, booleans and null")
    if any(isinstance(value, str) and not is_plain_text(value) for value in enum):
        raise NeedsSchemaError(path, "a string of 'enum' is printable ASCII without quote and backslash")
    if any(isinstance(value, float) and not value.is_integer() for value in enum):
        raise NeedsSchemaError(path, "a number of 'enum' is whole: engines compare fractions differently")
    if not isinstance(schema.get("description", ""), str):
        raise NeedsSchemaError(path, "'description' is a string")
    return schema


def types_of(schema: JsonObject, path: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The types that `schema` names, sorted; none when it names no type.

    Raises:
        NeedsSchemaError: they are not types.
    """
    given = schema.get("type", [])
    types = [given] if isinstance(given, str) else given
    if not isinstance(types, list) or ("type" in schema and not types):
        raise NeedsSchemaError(path, "'type' is a type or a list of types")
    found = tuple(sorted(name for name in types if isinstance(name, str) and name in TYPES))
    if len(found) != len(types) or len(set(found)) != len(found):
        raise NeedsSchemaError(path, f"'type' names each of {', '.join(TYPES)} at most once")
    return found


def _check_properties(schema: JsonObject, path: tuple[str, ...]) -> None:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise NeedsSchemaError(path, "'properties' is an object of schemas")
    for key, below in properties.items():
        if not is_plain_text(key):
            raise NeedsSchemaError(path, f"property {key!a} is not printable ASCII without quote and backslash")
        check_needs_schema(below, (*path, "properties", key))
    required = schema.get("required", [])
    if not isinstance(required, list):
        raise NeedsSchemaError(path, "'required' is a list of names")
    for name in required:
        if not isinstance(name, str) or name not in properties:
            raise NeedsSchemaError(path, f"'required' names {name!r}, which is not in 'properties'")
    if len(set(map(str, required))) != len(required):
        raise NeedsSchemaError(path, "'required' names a property twice")
    additional = schema.get("additionalProperties", True)
    if not isinstance(additional, bool):
        check_needs_schema(additional, (*path, "additionalProperties"))
