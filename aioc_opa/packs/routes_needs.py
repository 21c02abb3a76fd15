"""From declared needs to Rego: generated functions that are true of a value which has what a pack needs.

They are made of positive statements only, and the routes ask `not fits(value)`: whatever is missing, of another type,
or undefined makes the function undefined, and so denies. Generated rules rather than `json.match_schema`: both engines
agree on them (docs/embedded-engine.md), and nothing is compiled at run time.

A call of a function costs several times a statement on the embedded engine, so what is one conjunction is written in
place: objects within objects, lists as `every`. Functions are what needs alternatives: a union with a structure in it,
and an optional key of one. They are named by the hash of what they check, so equal schemas share one and a change in
one pack leaves the others' lines alone.
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
_ABSENT: Final[JsonObject] = {
    "array": [],
    "boolean": False,
    "null": None,
    "number": 0,
    "object": {},
    "string": "",
}
"""By type, a value of it, which an optional key that is absent is read as. No integer: Rego's type is number."""
_OBJECT_KEYWORDS: Final = ("properties", "required", "additionalProperties")
_ARRAY_KEYWORDS: Final = ("items",)
_STRUCTURE: Final = _OBJECT_KEYWORDS + _ARRAY_KEYWORDS


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
        expression = _scalar_check(schema, value, indent)
        return f"{self._fits(schema)}({value})" if expression is None else expression

    def _fits(self, schema: JsonObject) -> str:
        name = _name("_fits", schema)
        if name not in self._functions:
            self._functions[name] = ""  # its place is taken while parts of it are written
            self._functions[name] = "\n".join(
                _function(f"{name}(value)", list(self._statements(_of_kind(schema, kind), "value", "\t")))
                for kind in types_of(schema)
            )
        return name

    def _statements(self, schema: JsonObject, value: str, indent: str) -> Iterator[str]:
        """Statements that are all true when `value` fits `schema`; `indent` is that of the body they stand in."""
        types = types_of(schema)
        expression = _scalar_check(schema, value, indent)
        if expression is not None:
            yield expression
        elif len(types) == 1 and isinstance(enum := schema.get("enum"), list):
            yield f"{_TYPE_TESTS[types[0]]}({value})"
            yield among(value, enum, indent)  # never true: an enum has scalars, and here none of this type
        elif types == ("array",):
            yield from self._array(schema, value, indent)
        elif types == ("object",):
            yield from self._object(schema, value, indent)
        else:
            yield f"{self._fits(schema)}({value})"

    def _array(self, schema: JsonObject, value: str, indent: str) -> Iterator[str]:
        yield f"is_array({value})"
        items = schema.get("items")
        if isinstance(items, dict):
            yield self._every(items, value, indent)

    def _object(self, schema: JsonObject, value: str, indent: str) -> Iterator[str]:
        properties, needed = _properties_of(schema)
        if not needed:  # else a key of it is asked for, and only an object has keys
            yield f"is_object({value})"
        for key in sorted(needed):
            yield from self._statements(properties[key], reference(value, key), indent)
        for key in sorted(properties.keys() - needed):
            if properties[key]:
                yield self._optional(key, properties[key], value, indent)
        additional = schema.get("additionalProperties", True)
        if additional is False:
            known = f"{{{', '.join(literal(key) for key in sorted(properties))}}}" if properties else "set()"
            yield f"object.keys({value}) - {known} == set()"
        elif isinstance(additional, dict) and additional and not properties:
            yield self._every(additional, value, indent)
        elif isinstance(additional, dict) and additional:
            key, item = _local("key", indent), _local("item", indent)
            rest = self._rest(sorted(properties), additional)
            yield f"every {key}, {item} in {value} {{\n{indent}\t{rest}({key}, {item})\n{indent}}}"

    def _every(self, schema: JsonObject, value: str, indent: str) -> str:
        item = _local("item", indent)
        lines = "".join(f"{indent}\t{line}\n" for line in self._statements(schema, item, f"{indent}\t"))
        return f"every {item} in {value} {{\n{lines}{indent}}}"

    def _optional(self, key: str, below: JsonObject, value: str, indent: str) -> str:
        """One expression; `value` is known to be an object by then."""
        absent = _absent(below)
        if absent is not None:
            expression = _scalar_check(below, f"object.get({value}, {literal(key)}, {absent})", indent)
            if expression is not None:
                return expression
        name = _name("_may_have", {"key": key, "schema": below})
        if name not in self._functions:
            self._functions[name] = ""
            without = _function(f"{name}(value)", [f"not {literal(key)} in object.keys(value)"])
            present = _function(f"{name}(value)", list(self._statements(below, reference("value", key), "\t")))
            self._functions[name] = f"{without}\n{present}"
        return f"{name}({value})"

    def _rest(self, known: list[str], additional: JsonObject) -> str:
        keys: JsonValue = list(known)
        name = _name("_rest_fits", {"known": keys, "schema": additional})
        if name not in self._functions:
            declared = _function(f"{name}(key, _)", [among("key", list(known), "\t")])
            other = _function(f"{name}(_, item)", [self.check(additional, "item", "\t")])
            self._functions[name] = f"{declared}\n{other}"
        return name


def _scalar_check(schema: JsonObject, value: str, indent: str) -> str | None:
    """One expression without a function of ours, or None where `schema` needs more."""
    types, enum = types_of(schema), schema.get("enum")
    if any(keyword in schema for keyword in _STRUCTURE):
        return None
    if isinstance(enum, list):
        fitting = [option for option in enum if not types or any(_is_of(option, kind) for kind in types)]
        return among(value, fitting, indent) if fitting else None
    if not types:
        return f"type_name({value})"  # a builtin: true of whatever is there
    if len(types) == 1:
        return f"{_TYPE_TESTS[types[0]]}({value})"
    if "integer" in types:
        return None
    return f"type_name({value}) in {{{', '.join(map(literal, types))}}}"


def _absent(schema: JsonObject) -> str | None:
    """A literal that fits `schema`, which has no structure; None when there is none to be had."""
    types, enum = types_of(schema), schema.get("enum")
    if isinstance(enum, list):
        fitting = [option for option in enum if not types or any(_is_of(option, kind) for kind in types)]
        return literal(fitting[0]) if fitting else None
    return literal(_ABSENT[types[0]]) if types and types[0] in _ABSENT else None


def _is_of(option: JsonValue, kind: str) -> bool:
    """Whether an option of an enum is of that type; its numbers are whole."""
    if option is None or isinstance(option, bool):
        return kind == ("null" if option is None else "boolean")
    return kind == "string" if isinstance(option, str) else kind in {"integer", "number"}


def _properties_of(schema: JsonObject) -> tuple[dict[str, JsonObject], frozenset[str]]:
    given, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(given, dict) or not isinstance(required, list):  # check_needs_schema has refused it
        raise NeedsSchemaError((), "'properties' is an object and 'required' a list")
    below = {key: value for key, value in given.items() if isinstance(value, dict)}
    if len(below) < len(given):  # likewise
        raise NeedsSchemaError((), "a schema is an object")
    return below, frozenset(map(str, required))


def _of_kind(schema: JsonObject, kind: str) -> JsonObject:
    """What `schema` says of values of that one type."""
    of_others = {"array": _OBJECT_KEYWORDS, "object": _ARRAY_KEYWORDS}.get(kind, _STRUCTURE)
    return {**{keyword: value for keyword, value in schema.items() if keyword not in of_others}, "type": kind}


def _local(name: str, indent: str) -> str:
    """A variable of an `every` at this depth: none of those around it."""
    return name if len(indent) == 1 else f"{name}_{len(indent)}"


def _name(prefix: str, content: JsonObject) -> str:
    return f"{prefix}_{hashlib.sha256(canonical_text(content).encode()).hexdigest()[:16]}"


def _function(head: str, body: list[str]) -> str:
    if len(body) == 1 and "\n" not in body[0]:
        return f"{head} if {body[0]}\n"
    lines = "".join(f"\t{statement}\n" for statement in body)
    return f"{head} if {{\n{lines}}}\n"
