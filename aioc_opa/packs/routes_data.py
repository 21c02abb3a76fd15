"""Declared data needs as Rego statements: static references, never a whole package as a value.

``data.aioc.packs.payments`` holds rules beside tables; as a value it would evaluate the pack. So on the way down to a
package only `properties` and `required` are followed, and what lies below is checked as a value.

Tables can be large. OPA hands a table to a builtin as it is, but makes a copy of it for a function of ours: 46 µs and
74 ms with 10,000 entries. So everything that can be asked with builtins on references is, and only entries of tables
(`items`, `additionalProperties`) and alternatives of types go through functions; those cost with the table's size.
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
        writer: takes the functions and rules that the statements need.
        path: where in ``data``.

    Raises:
        NeedsSchemaError: the schema asks for more than keys of a place that holds rules.
    """
    if not schema:
        return
    if types_of(schema) != ("object",) or schema.keys() - _FOLLOWED:
        place = ".".join(("data", *path))
        raise NeedsSchemaError(path, f"{place} holds rules: declare it by type object, properties and required only")
    for below, here, required in _properties(schema, path):
        if here in above:
            yield from data_statements(below, above, writer, here)
        elif required:
            yield from _value_statements(below, here, writer)
        elif below:
            yield f"not {_misfit(below, here, writer)}"


def _properties(schema: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[JsonObject, tuple[str, ...], bool]]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):  # check_needs_schema has refused it
        raise NeedsSchemaError(path, "'properties' is an object and 'required' a list")
    for key in sorted(properties):
        below = properties[key]
        if not isinstance(below, dict):  # likewise
            raise NeedsSchemaError((*path, key), "a schema is an object")
        yield below, (*path, key), key in required


def _value_statements(schema: JsonObject, path: tuple[str, ...], writer: NeedsWriter) -> Iterator[str]:
    expression = _expression(path)
    if not schema:
        yield f"type_name({expression})"  # a builtin: true of whatever is there
    elif types_of(schema) == ("object",) and not schema.keys() - _FOLLOWED:
        yield f"is_object({expression})"
        for below, here, required in _properties(schema, path):
            if required:
                yield from _value_statements(below, here, writer)
            elif below:
                yield f"not {_misfit(below, here, writer)}"
    else:
        yield writer.check(schema, expression, "\t")


def _misfit(schema: JsonObject, path: tuple[str, ...], writer: NeedsWriter) -> str:
    """The rule that is true when there is a value at `path` that does not fit."""
    expression, statements = _expression(path), list(_value_statements(schema, path, writer))
    fits = statements[0]
    if len(statements) > 1:
        fits = writer.rule("_table_fits", {"path": list(path), "schema": schema}, statements)
    return writer.rule(
        "_table_misfits", {"path": list(path), "schema": schema}, [f"type_name({expression})", f"not {fits}"]
    )


def _expression(path: tuple[str, ...]) -> str:
    expression = "data"
    for segment in path:
        expression = reference(expression, segment)
    return expression


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
