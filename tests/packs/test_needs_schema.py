from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.packs.needs_schema import NeedsSchemaError, check_needs_schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": ["object", "null"], "properties": {"a": {"enum": ["x", 1, True, None]}}, "required": ["a"]},
        {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}},
        {"type": "object", "additionalProperties": False, "description": "nothing"},
        {"enum": [1.0]},
    ],
)
def test_schemas_of_the_language(schema: Any) -> None:
    assert check_needs_schema(schema) is schema


def nested(depth: int) -> Any:
    schema: Any = {}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "a schema is an object"),
        (True, "a schema is an object"),
        ({"minimum": 1}, "keyword 'minimum'"),
        ({"$ref": "#"}, "keyword"),
        ({"type": "text"}, "names each of"),
        ({"type": ["string", "string"]}, "at most once"),
        ({"type": []}, "a type or a list of types"),
        ({"type": 5}, "a type or a list of types"),
        ({"type": [5]}, "names each of"),
        ({"properties": {}}, "needs the type object"),
        ({"type": "array", "required": []}, "needs the type object"),
        ({"type": "string", "additionalProperties": False}, "needs the type object"),
        ({"type": "object", "items": {}}, "needs the type array"),
        ({"type": "array", "items": [{}]}, "a schema is an object"),
        ({"type": "object", "properties": []}, "object of schemas"),
        ({"type": "object", "properties": {"a": True}}, "a schema is an object"),
        ({"type": "object", "properties": {'a"b': {}}}, "printable ASCII"),
        ({"type": "object", "properties": {"a\n": {}}}, "printable ASCII"),
        ({"type": "object", "required": "a"}, "list of names"),
        ({"type": "object", "required": ["a"]}, "not in 'properties'"),
        ({"type": "object", "required": [5]}, "not in 'properties'"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a", "a"]}, "twice"),
        ({"type": "object", "additionalProperties": 5}, "a schema is an object"),
        ({"enum": []}, "one value or more"),
        ({"enum": "x"}, "one value or more"),
        ({"enum": [[]]}, "strings, numbers"),
        ({"enum": ['"']}, "printable ASCII"),
        ({"enum": [0.5]}, "whole"),
        ({"description": 5}, "'description' is a string"),
        (nested(30), "nested deeper"),
    ],
)
def test_schemas_that_are_refused_with_their_place(schema: Any, problem: str) -> None:
    with pytest.raises(NeedsSchemaError, match=problem) as caught:
        check_needs_schema({"type": "object", "properties": {"here": schema}})
    assert caught.value.path[:2] == ("properties", "here")
