"""Find the unions that make parsing exponential in the depth of the text.

Pydantic validates a union without a discriminator by trying its members, each as far down as the text goes; that a
member's tag does not fit stops nothing. Where two members lead back to the union, every level of the text doubles the
work: 330 bytes hold a call for hours, no deadline interrupts it. With one such member for each JSON kind (a list and a
dict) a level is read once, and with a discriminator too. Any exponential parse passes such a union: two ways through
one text part at a union that both come back to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from aioc_opa.core.canonical_form.refusal import shown
from aioc_opa.core.tool_schemas.core_schema_parts import Place, parts

_Schema: TypeAlias = Mapping[str, Any]

_KINDS: Final = {
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "generator"), "array"),
    **dict.fromkeys(("dict", "typed-dict", "model-fields", "dataclass", "dataclass-args"), "object"),
}

CURE: Final = (
    "a union without a discriminator, several of whose members lead back to it: parsing tries each of them at every "
    "level, which no deadline can interrupt: give the members a tag and the union a Field(discriminator=…), and let "
    "one list of all stand for several lists"
)


def branching_union(core_schema: Any, names: Mapping[str, str]) -> str | None:
    """The place of the first union whose parsing branches at every level; None if there is none.

    Args:
        core_schema: what `TypeAdapter.core_schema` gives.
        names: for a model with generated field names: what each is called outside.
    """
    graph = _Graph(core_schema)
    for union, place in graph.unions:
        counted: dict[str, int] = {}
        recursive = graph.leading_to(union)
        for choice in graph.inner[id(union)]:
            if id(choice) in recursive:
                for kind in graph.kinds(choice):
                    counted[kind] = counted.get(kind, 0) + 1
        if max(counted.values(), default=0) > 1:
            return shown((names.get(place[0], place[0]), *place[1:]) if place else place)
    return None


class _Graph:
    """Every schema that validating may come to, with those right inside it; references are followed."""

    def __init__(self, core_schema: _Schema) -> None:
        self.inner: dict[int, list[_Schema]] = {}
        self.unions: list[tuple[_Schema, Place]] = []
        self._outer: dict[int, list[int]] = {}
        self._definitions: dict[str, _Schema] = {}
        self._define([core_schema])
        ahead: list[tuple[_Schema, Place]] = [(core_schema, ())]
        while ahead:
            schema, place = ahead.pop()
            if id(schema) in self.inner:
                continue
            found = [(self._followed(part), at) for part, at in parts(schema, place)]
            self.inner[id(schema)] = [part for part, _ in found]
            for part, _ in found:
                self._outer.setdefault(id(part), []).append(id(schema))
            if schema.get("type") == "union":
                self.unions.append((schema, place))
            ahead.extend(reversed(found))

    def leading_to(self, schema: _Schema) -> set[int]:
        """What leads to `schema` in one step or more."""
        found: set[int] = set()
        ahead = list(self._outer.get(id(schema), ()))
        while ahead:
            one = ahead.pop()
            if one not in found:
                found.add(one)
                ahead.extend(self._outer.get(one, ()))
        return found

    def kinds(self, schema: _Schema) -> set[str]:
        """The JSON kinds of containers that a schema takes."""
        found: set[str] = set()
        seen: set[int] = set()
        ahead = [schema]
        while ahead:
            one = ahead.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            kind = _KINDS.get(one.get("type", ""))
            if kind is None:
                ahead.extend(self.inner[id(one)])
            else:
                found.add(kind)
        return found

    def _define(self, ahead: list[_Schema]) -> None:
        seen: set[int] = set()
        while ahead:
            schema = ahead.pop()
            if id(schema) in seen:
                continue
            seen.add(id(schema))
            if "ref" in schema:
                self._definitions.setdefault(schema["ref"], schema)
            ahead.extend(part for part, _ in parts(schema, ()))

    def _followed(self, schema: _Schema) -> _Schema:
        while schema.get("type") == "definition-ref" and schema["schema_ref"] in self._definitions:
            schema = self._definitions[schema["schema_ref"]]
        return schema
