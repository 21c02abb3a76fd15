"""Declared data needs as Rego statements: static references, never a whole package as a value.

``data.aioc.packs.payments`` holds rules beside tables; as a value it would evaluate the pack. So on the way down to a
package only `properties` and `required` are followed, and what lies below is checked as a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.packs.needs_schema import NeedsSchemaError, types_of
from aioc_opa.packs.routes_needs import NeedsWriter, reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aioc_opa.core.json_value import JsonObject

_FOLLOWED = frozenset({"type", "properties", "required", "description"})


def namespaces(packages: Iterable[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    """Every path of ``data`` at or above a package."""
    return frozenset(package[:depth] for package in packages for depth in range(len(package) + 1))


def data_statements(
    schema: JsonObject, above: frozenset[tuple[str, ...]], writer: NeedsWriter, path: tuple[str, ...] = ()
) -> Iterator[str]:
    """Statements that hold when ``data`` fits `schema`.

    Args:
        schema: a checked needs schema, rooted at `path`.
        above: as from `namespaces`.
        writer: takes the functions.
        path: where in ``data``.

    Raises:
        NeedsSchemaError: the schema asks for more than keys of a place that holds rules.
    """
    if not schema:
        return
    properties = schema.get("properties", {})
    if types_of(schema) != ("object",) or schema.keys() - _FOLLOWED or not isinstance(properties, dict):
        place = ".".join(("data", *path))
        raise NeedsSchemaError(path, f"{place} holds rules: declare it by type object, properties and required only")
    required = schema.get("required", [])
    for key in sorted(properties):
        below, here = properties[key], (*path, key)
        if not isinstance(below, dict):  # check_needs_schema has refused it
            raise NeedsSchemaError(here, "a schema is an object")
        if here in above:
            yield from data_statements(below, above, writer, here)
            continue
        expression = "data"
        for segment in here:
            expression = reference(expression, segment)
        if isinstance(required, list) and key in required:
            yield writer.check(below, expression, "\t")
        elif below:
            check = writer.check(below, "table", "\t\t")
            yield f"every table in [table | table := {expression}] {{\n\t\t{check}\n\t}}"


def declared_tables(
    schema: JsonObject, above: frozenset[tuple[str, ...]], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The paths of ``data`` that `schema` declares as values: what a pack may read."""
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return
    for key in sorted(properties):
        below, here = properties[key], (*path, key)
        if here in above and isinstance(below, dict):
            yield from declared_tables(below, above, here)
        else:
            yield here
