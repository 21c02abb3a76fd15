"""From declared needs to Rego: generated functions that are true of a value which has what a pack needs.

They are made of positive statements only, and the routes ask `not fits(value)`: whatever is missing, of another type,
or undefined makes the function undefined, and so denies. Generated rules rather than `json.match_schema`: both engines
agree on them (docs/embedded-engine.md), and nothing is compiled at run time.

Functions are named by the hash of what they check, so equal schemas share one and a change in one pack leaves the
others' lines alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.packs.names import is_identifier
from aioc_opa.packs.needs_schema import NeedsSchemaError, types_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aioc_opa.core.json_value import JsonObject, JsonValue

_TYPE_TESTS: Final = {
    "array": "is_array",
    "boolean": "is_boolean",
    "integer": "routing.is_integer",
    "null": "is_null",
    "number": "is_number",
    "object": "is_object",
    "string": "is_string",
}
_STRUCTURE: Final = ("properties", "required", "additionalProperties", "items")


def literal(value: JsonValue) -> str:
    """A scalar as Rego."""
    return json.dumps(value, ensure_ascii=True)


def member(values: Iterable[str], indent: str) -> str:
    """``in {…}`` over Rego literals, one a line as `opa fmt` keeps it."""
    lines = "".join(f"{indent}\t{value},\n" for value in sorted(set(values)))
    return f"in {{\n{lines}{indent}}}"


def among(value: str, options: list[JsonValue], indent: str) -> str:
    """An expression that is true when `value` is one of `options`."""
    literals = {literal(option) for option in options}
    return f"{value} == {literals.pop()}" if len(literals) == 1 else f"{value} {member(literals, indent)}"


def reference(base: str, key: str) -> str:
    """``base.key``, or ``base["key"]``."""
    return f"{base}.{key}" if is_identifier(key) else f"{base}[{literal(key)}]"


def without_descriptions(schema: JsonObject) -> JsonObject:
    """`schema` without its texts, which check nothing."""
    cleaned: JsonObject = {}
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            cleaned[keyword] = {k: without_descriptions(v) for k, v in value.items() if isinstance(v, dict)}
        elif isinstance(value, dict):
            cleaned[keyword] = without_descriptions(value)
        elif keyword != "description":
            cleaned[keyword] = value
    return cleaned


class NeedsWriter:
    """Collects the functions that the checks need; `functions()` writes each once, sorted."""

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}

    def functions(self) -> Iterator[str]:
        """The text of every function, sorted by name."""
        for name in sorted(self._functions):
            yield self._functions[name]

    def rule(self, prefix: str, content: JsonObject, statements: list[str]) -> str:
        """The name of a rule with that body; `content` is what its name is the hash of."""
        name = _name(prefix, content)
        self._functions[name] = _function(name, statements)
        return name

    def check(self, schema: JsonObject, value: str, indent: str) -> str:
        """One Rego expression that is true when `value` fits `schema`."""
        types = types_of(schema)
        enum = schema.get("enum")
        if not any(keyword in schema for keyword in _STRUCTURE):
            if isinstance(enum, list) and not types:
                return among(value, enum, indent)
            if enum is None and not types:
                return f"type_name({value})"  # a builtin: true of whatever is there
            if enum is None and len(types) == 1:
                return f"{_TYPE_TESTS[types[0]]}({value})"
        return f"{self._fits(schema)}({value})"

    def _fits(self, schema: JsonObject) -> str:
        name = _name("_fits", schema)
        if name not in self._functions:
            self._functions[name] = ""  # its place is taken while parts of it are written
            self._functions[name] = "\n".join(
                _function(f"{name}(value)", self._body(schema, kind)) for kind in types_of(schema)
            )
        return name

    def _body(self, schema: JsonObject, kind: str) -> list[str]:
        body = [f"{_TYPE_TESTS[kind]}(value)"]
        enum = schema.get("enum")
        if isinstance(enum, list):
            body.append(among("value", enum, "\t"))
        if kind == "array" and isinstance(items := schema.get("items"), dict):
            body.append(f"every item in value {{\n\t\t{self.check(items, 'item', chr(9) * 2)}\n\t}}")
        if kind == "object":
            body.extend(self._object_body(schema))
        return body

    def _object_body(self, schema: JsonObject) -> Iterator[str]:
        given = schema.get("properties")
        properties = given if isinstance(given, dict) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        for key in sorted(properties):
            below = properties[key]
            if not isinstance(below, dict):  # check_needs_schema has refused it
                raise NeedsSchemaError((key,), "a schema is an object")
            if key in needed:
                yield self.check(below, reference("value", key), "\t")
            elif below:
                yield f"{self._optional(key, below)}(value)"
        additional = schema.get("additionalProperties", True)
        if additional is False:
            known = f"{{{', '.join(literal(key) for key in sorted(properties))}}}" if properties else "set()"
            yield f"object.keys(value) - {known} == set()"
        elif isinstance(additional, dict) and additional and not properties:
            yield f"every item in value {{\n\t\t{self.check(additional, 'item', chr(9) * 2)}\n\t}}"
        elif isinstance(additional, dict) and additional:
            yield f"every key, item in value {{\n\t\t{self._rest(sorted(properties), additional)}(key, item)\n\t}}"

    def _optional(self, key: str, below: JsonObject) -> str:
        name = _name("_may_have", {"key": key, "schema": below})
        if name not in self._functions:
            absent = _function(f"{name}(value)", [f"not {literal(key)} in object.keys(value)"])
            present = _function(f"{name}(value)", [self.check(below, reference("value", key), "\t")])
            self._functions[name] = f"{absent}\n{present}"
        return name

    def _rest(self, known: list[str], additional: JsonObject) -> str:
        keys: JsonValue = list(known)
        name = _name("_rest_fits", {"known": keys, "schema": additional})
        if name not in self._functions:
            declared = _function(f"{name}(key, _)", [among("key", list(known), "\t")])
            other = _function(f"{name}(_, item)", [self.check(additional, "item", "\t")])
            self._functions[name] = f"{declared}\n{other}"
        return name


def _name(prefix: str, content: JsonObject) -> str:
    return f"{prefix}_{hashlib.sha256(canonical_text(content).encode()).hexdigest()[:16]}"


def _function(head: str, body: list[str]) -> str:
    if len(body) == 1 and "\n" not in body[0]:
        return f"{head} if {body[0]}\n"
    lines = "".join(f"\t{statement}\n" for statement in body)
    return f"{head} if {{\n{lines}}}\n"
