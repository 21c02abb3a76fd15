"""One tool's JSON Schema as a closed document: which draft, which keywords hold subschemas, where a `$ref` leads.

Rules (all checked when a tool is registered):

1. The document is plain JSON: exact Python types, no cycles, at most `MAX_SCHEMA_DEPTH` deep. It is copied.
2. The draft is the one that `$schema` names, else 2020-12. An unknown `$schema` is refused: nothing is fetched.
3. Every `$ref`, reachable or not, is ``#`` or ``#/…`` (RFC 6901) and leads to a schema of this document. Anchors,
   percent-encoding, nested `$id` and `$schema`, and dynamic references are refused: each of them lets a reference, or
   a keyword, mean two things. The validator decodes ``%2F`` before it looks for slashes.
4. The tables below say where the validator looks for subschemas in each draft (tests hold them against it).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from aioc_opa.errors import ToolRegistrationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject, JsonValue

Place: TypeAlias = "tuple[str | int, ...]"
Draft: TypeAlias = Literal[4, 6, 7, 2019, 2020]

MAX_SCHEMA_DEPTH: Final = 100

_DRAFTS: Final[dict[str, Draft]] = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}

_DATA_KEYWORDS: Final = frozenset({"default", "const", "enum", "examples", "example"})
"""Keywords whose value is data: a "$ref" inside is no reference."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_NOT_AN_ESCAPE: Final = re.compile(r"~(?![01])")
"""RFC 6901 sections 3 and 4: how an array is indexed, and what `~` may be followed by."""

_MAPS_OF_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose keys are names, not keywords."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword that holds subschemas.

    Attributes:
        name: the keyword.
        role: how the subschemas apply: ``all`` to the same value always; ``some`` to the same value under a condition;
            ``property``/``item`` to a child, always; ``some_property``/``some_item`` to children under a condition.
        drafts: drafts in which the validator evaluates it.
    """

    name: str
    role: Literal["all", "some", "property", "item", "some_property", "some_item"]
    drafts: frozenset[Draft]


_EVERY: Final[frozenset[Draft]] = frozenset({4, 6, 7, 2019, 2020})
_FROM_6: Final[frozenset[Draft]] = frozenset({6, 7, 2019, 2020})
_FROM_7: Final[frozenset[Draft]] = frozenset({7, 2019, 2020})
_FROM_2019: Final[frozenset[Draft]] = frozenset({2019, 2020})

KEYWORDS: Final = (
    Keyword("allOf", "all", _EVERY),
    Keyword("anyOf", "some", _EVERY),
    Keyword("oneOf", "some", _EVERY),
    Keyword("not", "some", _EVERY),
    Keyword("if", "some", _FROM_7),
    Keyword("then", "some", _FROM_7),
    Keyword("else", "some", _FROM_7),
    Keyword("dependencies", "some", _EVERY),  # jsonschema-rs keeps it in 2019-09 and 2020-12 too
    Keyword("dependentSchemas", "some", _FROM_2019),
    Keyword("properties", "property", _EVERY),
    Keyword("patternProperties", "some_property", _EVERY),
    Keyword("additionalProperties", "some_property", _EVERY),
    Keyword("unevaluatedProperties", "some_property", _FROM_2019),
    Keyword("propertyNames", "some_property", _FROM_6),  # the "child" is the name; a default there means nothing
    Keyword("items", "item", _EVERY),
    Keyword("prefixItems", "item", frozenset({2020})),
    Keyword("additionalItems", "some_item", frozenset({4, 6, 7, 2019})),
    Keyword("contains", "some_item", _FROM_6),
    Keyword("unevaluatedItems", "some_item", _FROM_2019),
)


def text_of(place: Place) -> str:
    """A place as a JSON pointer fragment, ``#/properties/a``."""
    return "#" + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


def refuse(tool_name: str, place: Place, problem: str) -> ToolRegistrationError:
    """The error for a schema that is refused at `place`."""
    return ToolRegistrationError(f"tool {tool_name!r}: schema at {text_of(place)}: {problem}")


class SchemaDocument:
    """The copied document, checked by rules 1 to 3.

    Attributes:
        root: the schema; nobody else holds it.
        draft: its draft.
        tool_name: for errors.

    Raises:
        ToolRegistrationError: a rule does not hold; the message has the place.
    """

    __slots__ = ("draft", "root", "tool_name")

    def __init__(self, schema: JsonObject, tool_name: str) -> None:
        self.tool_name = tool_name
        copied = _copy_plain(schema, tool_name, (), 1)
        if type(copied) is not dict:
            raise refuse(tool_name, (), "the schema of a tool's arguments is a JSON object")
        self.root: JsonObject = copied
        self.draft: Draft = self._draft()
        # References are local pointers only, so the root's own identifier has no reader.
        self.root.pop("$id", None)
        if self.draft == 4 and type(self.root.get("id")) is str:  # noqa: PLR2004 - draft 4 spelled it "id"
            del self.root["id"]
        self._check_references(self.root, ())
        if self.root.get("type") not in ("object", ["object"]):
            raise refuse(tool_name, (), 'arguments are a JSON object: write "type": "object" at the top level')

    def _draft(self) -> Draft:
        named = self.root.get("$schema")
        if named is None:
            return 2020
        draft = _DRAFTS.get(named.removesuffix("#")) if type(named) is str else None
        if draft is None:
            known = ", ".join(_DRAFTS)
            raise refuse(self.tool_name, ("$schema",), f"unknown dialect; use one of {known}, or leave it out")
        return draft

    def _check_references(self, value: JsonValue, place: Place) -> None:
        """Rule 3, over the whole document: what is unreachable today is reachable after an edit."""
        if type(value) is list:
            for index, item in enumerate(value):
                self._check_references(item, (*place, index))
        elif type(value) is dict:
            names_only = bool(place) and place[-1] in _MAPS_OF_SCHEMAS and not self._is_name(place)
            if not names_only:
                self._check_keywords(value, place)
            for key, item in value.items():
                if names_only or key not in _DATA_KEYWORDS:
                    self._check_references(item, (*place, key))

    @staticmethod
    def _is_name(place: Place) -> bool:
        """Whether the last part is a name inside a map of schemas, as in ``properties/properties``."""
        names = False
        for part in place[:-1]:
            names = not names and part in _MAPS_OF_SCHEMAS
        return names

    def _in_data(self, target: Place) -> bool:
        """Whether a keyword whose value is data lies on the way: what is in there is not checked as a schema."""
        return any(
            part in _DATA_KEYWORDS and not self._is_name(target[: index + 1]) for index, part in enumerate(target)
        )

    def _check_keywords(self, schema: JsonObject, place: Place) -> None:
        identifier = "id" if self.draft == 4 else "$id"  # noqa: PLR2004 - draft 4 spelled it "id"
        if place and type(schema.get(identifier)) is str:
            raise refuse(self.tool_name, place, f"a nested {identifier!r} changes what references mean; remove it")
        if place and "$schema" in schema:
            raise refuse(self.tool_name, place, "a nested '$schema' changes what keywords mean; remove it")
        for dynamic in ("$dynamicRef", "$recursiveRef"):
            if dynamic in schema:
                raise refuse(self.tool_name, place, f"{dynamic!r} is not taken; write a local $ref")
        if "$ref" in schema:
            self.resolve(schema["$ref"], place)

    def resolve(self, reference: JsonValue, place: Place) -> Place:
        """The place that a `$ref` found at `place` leads to.

        Raises:
            ToolRegistrationError: it is not local, or leads to nothing that is a schema.
        """
        if type(reference) is not str or not (reference == "#" or reference.startswith("#/")):
            raise refuse(
                self.tool_name,
                place,
                "this $ref is not local: nothing is fetched; copy its target into $defs and refer to it as #/$defs/…",
            )
        if "%" in reference:
            raise refuse(self.tool_name, place, "'%' in a $ref reads two ways; give its target a name of plain letters")
        if _NOT_AN_ESCAPE.search(reference):
            raise refuse(self.tool_name, place, "'~' in a $ref is written ~0, and '/' in a name ~1")
        target: Place = ()
        value: JsonValue = self.root
        for token in reference.split("/")[1:]:
            part = token.replace("~1", "/").replace("~0", "~")
            if type(value) is dict and part in value:
                target, value = (*target, part), value[part]
            elif type(value) is list and _INDEX.fullmatch(part) and int(part) < len(value):
                target, value = (*target, int(part)), value[int(part)]
            else:
                raise refuse(self.tool_name, place, "this $ref leads to nothing in the document")
        if type(value) not in (dict, bool) or self._in_data(target):
            raise refuse(self.tool_name, place, "this $ref does not lead to a schema")
        return target

    def at(self, place: Place) -> JsonValue:
        """The value at a place that exists."""
        value: JsonValue = self.root
        for part in place:
            value = value[part]  # type: ignore[index] # the place was walked before
        return value

    def subschemas(self, place: Place) -> Iterator[tuple[Keyword, Place]]:
        """The subschemas that the validator evaluates for the schema at `place`, `$ref` not among them."""
        schema = self.at(place)
        if type(schema) is not dict or self.reference_hides_siblings(schema):
            return
        for keyword in KEYWORDS:
            if keyword.name in schema and self.draft in keyword.drafts:
                held = schema[keyword.name]
                here = (*place, keyword.name)
                if keyword.name in _MAPS_OF_SCHEMAS:
                    inner = held.items() if type(held) is dict else ()
                    yield from ((keyword, (*here, name)) for name, sub in inner if type(sub) in (dict, bool))
                elif type(held) is list:
                    yield from ((keyword, (*here, index)) for index in range(len(held)))
                else:
                    yield keyword, here

    def reference_hides_siblings(self, schema: JsonObject) -> bool:
        """Draft 7 section 8.3 and older: "All other properties in a "$ref" object MUST be ignored"."""
        return "$ref" in schema and self.draft <= 7  # noqa: PLR2004 - the last draft with that sentence


def _copy_plain(value: object, tool_name: str, place: Place, depth: int) -> JsonValue:
    if depth > MAX_SCHEMA_DEPTH:
        raise refuse(tool_name, place, f"deeper than {MAX_SCHEMA_DEPTH}, or a cycle")
    if type(value) is dict:
        if not all(type(key) is str for key in value):
            raise refuse(tool_name, place, "a key is not a string")
        for key in value:
            _copy_plain(key, tool_name, place, depth)
        return {key: _copy_plain(item, tool_name, (*place, key), depth + 1) for key, item in value.items()}
    if type(value) is list:
        return [_copy_plain(item, tool_name, (*place, index), depth + 1) for index, item in enumerate(value)]
    if type(value) is str and any("\ud800" <= character <= "\udfff" for character in value):
        raise refuse(tool_name, place, "a lone surrogate is not text")
    if type(value) is float and not math.isfinite(value):
        raise refuse(tool_name, place, "NaN and infinities are not JSON")
    if value is None or type(value) in (bool, int, float, str):
        return value  # type: ignore[return-value] # narrowed by exact type
    raise refuse(tool_name, place, f"{type(value).__name__} is not JSON")
