"""A tool's schema as `opa check --schema` can read it.

OPA reads JSON Schema to know which references exist. Two things have to go: `$schema` (its reader knows drafts up to 7,
and the keywords it looks at mean the same in all), and recursion: on a `$ref` that leads back to a schema that
contains it, `opa check` of 1.22.4 dies of a stack overflow. Such a `$ref` becomes ``{}``: anything goes from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.tool_schemas.json_schema_document import Place, SchemaDocument

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue


def for_opa_check(schema: JsonObject, *, tool_name: str) -> JsonObject:
    """A copy of `schema` for OPA's type checker.

    Raises:
        ToolRegistrationError: the schema is none of `JsonSchemaTool`.
    """
    document = SchemaDocument(schema, tool_name)
    edges: dict[Place, list[Place]] = {}
    references: dict[Place, Place] = {}
    _collect(document, document.root, (), edges, references)
    for place, target in references.items():
        if place and _reaches(edges, target, place):
            parent = document.at(place[:-1])
            parent[place[-1]] = {}  # type: ignore[index] # the place was walked before
    document.root.pop("$schema", None)
    return document.root


def _collect(
    document: SchemaDocument,
    value: JsonValue,
    place: Place,
    edges: dict[Place, list[Place]],
    references: dict[Place, Place],
) -> None:
    below: list[Place] = []
    if type(value) is dict:
        below = [(*place, key) for key in value]
        # Whatever looks like a reference: OPA's reader does not tell schemas from data either.
        if type(value.get("$ref")) is str:
            references[place] = document.resolve(value["$ref"], place)
            below.append(references[place])
        for key, item in value.items():
            _collect(document, item, (*place, key), edges, references)
    elif type(value) is list:
        below = [(*place, index) for index in range(len(value))]
        for index, item in enumerate(value):
            _collect(document, item, (*place, index), edges, references)
    edges[place] = below


def _reaches(edges: dict[Place, list[Place]], start: Place, goal: Place) -> bool:
    seen: set[Place] = set()
    queue = [start]
    while queue:
        place = queue.pop()
        if place == goal:
            return True
        if place not in seen:
            seen.add(place)
            queue.extend(edges.get(place, ()))
    return False
