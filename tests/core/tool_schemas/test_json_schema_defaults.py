"""Declared defaults: where they count, where they are refused, and that every fill is a copy."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from aioc_opa.core.tool_schemas.json_schema_document import KEYWORDS, SchemaDocument
from tests.core.tool_schemas.defaults_cases import ONE, parsed
from tests.core.tool_schemas.json_schema_cases import DRAFTS, issue, refusal, tool


@pytest.mark.parametrize(
    ("schema", "given_", "expected"),
    [
        ({"properties": {"a": ONE}}, {}, {"a": 1}),
        ({"properties": {"a": ONE}}, {"a": 2}, {"a": 2}),
        ({"properties": {"a": ONE}}, {"a": None}, {"a": None}),
        ({"properties": {"a": {"default": None}}}, {}, {"a": None}),
        ({"properties": {"o": {"properties": {"a": ONE}}}}, {}, {}),
        ({"properties": {"o": {"properties": {"a": ONE}}}}, {"o": {}}, {"o": {"a": 1}}),
        ({"properties": {"o": {"properties": {"a": ONE}}}}, {"o": 3}, {"o": 3}),
        ({"properties": {"o": {"default": {}, "properties": {"a": ONE}}}}, {}, {"o": {"a": 1}}),
        ({"properties": {"o": {"default": [{}], "items": {"properties": {"a": ONE}}}}}, {}, {"o": [{"a": 1}]}),
        ({"properties": {"o": {"default": {"b": {}}, "properties": {"b": {"properties": {"a": ONE}}}}}}, {}, {"o": {"b": {"a": 1}}}),
        ({"properties": {"l": {"items": {"properties": {"a": ONE}}}}}, {"l": [{}, 7, {"a": 2}]}, {"l": [{"a": 1}, 7, {"a": 2}]}),
        ({"properties": {"l": {"prefixItems": [{}, {"properties": {"a": ONE}}], "items": {"properties": {"b": ONE}}}}},
         {"l": [{}, {}, {}]}, {"l": [{}, {"a": 1}, {"b": 1}]}),
        ({"properties": {"l": {"prefixItems": [{"properties": {"a": ONE}}]}}}, {"l": [{}, {}]}, {"l": [{"a": 1}, {}]}),
        ({"properties": {"l": {"allOf": [{"prefixItems": [{"properties": {"a": ONE}}]}, {"items": {"properties": {"b": ONE}}}]}}},
         {"l": [{}, {}]}, {"l": [{"a": 1, "b": 1}, {"b": 1}]}),
        ({"allOf": [{"properties": {"a": ONE}}, {"allOf": [{"properties": {"b": ONE}}]}]}, {}, {"a": 1, "b": 1}),
        ({"$defs": {"n": ONE}, "properties": {"a": {"$ref": "#/$defs/n"}}}, {}, {"a": 1}),
        ({"$defs": {"n": {"allOf": [ONE]}}, "properties": {"a": {"$ref": "#/$defs/n", "title": "A"}}}, {}, {"a": 1}),
        ({"$defs": {"n": {"properties": {"a": ONE}}}, "$ref": "#/$defs/n"}, {}, {"a": 1}),
        ({"properties": {"a": ONE, "kids": {"items": {"$ref": "#"}}}}, {"kids": [{"kids": [{}]}]},
         {"a": 1, "kids": [{"a": 1, "kids": [{"a": 1}]}]}),
        ({"allOf": [{"properties": {"a": ONE}}, {"properties": {"a": {"default": 1.0}}}]}, {}, {"a": 1}),
        ({"properties": {"a": {"default": 1, "type": "integer"}, 'b/~ %"é': {"default": 2, "type": "integer"}}}, {}, {"a": 1, 'b/~ %"é': 2}),
        ({"properties": {"default": {"default": "x"}}}, {}, {"default": "x"}),
    ],
)  # fmt: skip
def test_defaults_are_filled_through_properties_items_all_of_and_local_references(
    schema: dict[str, Any], given_: Any, expected: Any
) -> None:
    assert parsed(schema, given_) == expected


def test_old_drafts_fill_through_lists_of_items_and_references() -> None:
    schema = {
        "$schema": DRAFTS[7],
        "definitions": {"n": {"properties": {"a": ONE}}, "c": {"default": "red"}},
        "properties": {"l": {"items": [{"$ref": "#/definitions/n"}, {}]}, "c": {"$ref": "#/definitions/c"}},
    }
    assert parsed(schema, {"l": [{}, {}, {}]}) == {"c": "red", "l": [{"a": 1}, {}, {}]}


# -- never to satisfy `required`


def test_a_required_property_is_not_filled() -> None:
    found = issue(tool(properties={"a": ONE}, required=["a"]), {})
    assert (found.code, found.message) == ("required", "required property 'a' is missing")


@pytest.mark.parametrize(
    "where",
    [{"allOf": [{"required": ["a"]}]}, {"$ref": "#/$defs/r", "$defs": {"r": {"required": ["a"]}}}],
)
def test_it_does_not_matter_where_it_is_required(where: dict[str, Any]) -> None:
    assert issue(tool(properties={"a": ONE}, **where), {}).code == "required"


def test_required_below_a_parents_all_of_is_seen() -> None:
    schema = tool(properties={"o": {"properties": {"a": ONE}}}, allOf=[{"properties": {"o": {"required": ["a"]}}}])
    assert issue(schema, {"o": {}}).path == ("o",)


def test_a_required_default_may_even_be_one_that_does_not_fit() -> None:
    assert parsed({"properties": {"a": {"type": "string", "default": None}}, "required": ["a"]}, {"a": "x"}) == {
        "a": "x"
    }


@pytest.mark.parametrize(
    "condition",
    [
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"not": {"required": ["a"]}},
        {"if": {"required": ["a"]}, "then": {}},
        {"if": {"required": ["b"]}, "else": {"required": ["a"]}},
        {"dependentRequired": {"b": ["a"]}},
        {"dependencies": {"b": ["a"]}},
        {"dependentSchemas": {"b": {"required": ["a"]}}},
        {"anyOf": [{"allOf": [{"required": ["a"]}]}]},
    ],
)
def test_a_default_that_would_decide_a_condition_is_refused(condition: dict[str, Any]) -> None:
    said = refusal(properties={"a": ONE}, **condition)
    assert "#/properties/a/default" in said
    assert "under a condition" in said


def test_a_condition_of_the_parent_on_the_child_counts_too() -> None:
    below = {"properties": {"o": {"required": ["a"]}}}
    for condition in (
        {"anyOf": [below, {}]},
        {"additionalProperties": False, "patternProperties": {"^o": {"required": ["a"]}}},
    ):
        assert "under a condition" in refusal(properties={"o": {"properties": {"a": ONE}}}, **condition)


# -- a default elsewhere


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"default": {}}, "#/default"),
        ({"allOf": [{"default": {}}]}, "#/allOf/0/default"),
        ({"anyOf": [{"properties": {"a": ONE}}]}, "#/anyOf/0/properties/a/default"),
        ({"oneOf": [{"properties": {"a": ONE}}]}, "#/oneOf/0/properties/a/default"),
        ({"properties": {"a": {"anyOf": [ONE, {}]}}}, "#/properties/a/anyOf/0/default"),
        ({"not": {"properties": {"a": ONE}}}, "#/not/properties/a/default"),
        ({"if": {"properties": {"a": ONE}}}, "#/if/properties/a/default"),
        ({"then": {"properties": {"a": ONE}}, "if": {}}, "#/then/properties/a/default"),
        ({"else": {"properties": {"a": ONE}}, "if": {}}, "#/else/properties/a/default"),
        ({"patternProperties": {"^x": ONE}}, "#/patternProperties/^x/default"),
        ({"additionalProperties": ONE}, "#/additionalProperties/default"),
        ({"unevaluatedProperties": ONE}, "#/unevaluatedProperties/default"),
        ({"propertyNames": ONE}, "#/propertyNames/default"),
        ({"dependentSchemas": {"b": {"properties": {"a": ONE}}}}, "#/dependentSchemas/b/properties/a/default"),
        ({"dependencies": {"b": {"properties": {"a": ONE}}}}, "#/dependencies/b/properties/a/default"),
        ({"properties": {"l": {"items": ONE}}}, "#/properties/l/items/default"),
        ({"properties": {"l": {"prefixItems": [ONE]}}}, "#/properties/l/prefixItems/0/default"),
        ({"properties": {"l": {"contains": {"properties": {"a": ONE}}}}}, "#/properties/l/contains/properties/a/default"),
        ({"properties": {"l": {"unevaluatedItems": {"properties": {"a": ONE}}}}}, "#/properties/l/unevaluatedItems/properties/a/default"),
        ({"anyOf": [{"properties": {"l": {"items": {"properties": {"a": ONE}}}}}]}, "#/anyOf/0/properties/l/items/properties/a/default"),
        ({"$defs": {"n": ONE}, "properties": {"l": {"items": {"$ref": "#/$defs/n"}}}}, "#/$defs/n/default"),
        ({"$defs": {"n": {"properties": {"a": ONE}}}, "anyOf": [{"$ref": "#/$defs/n"}]}, "#/$defs/n/properties/a/default"),
        ({"additionalProperties": {"additionalProperties": {"items": {"properties": {"a": ONE}}}}},
         "#/additionalProperties/additionalProperties/items/properties/a/default"),
    ],
)  # fmt: skip
def test_a_default_elsewhere_is_refused_with_its_place(schema: dict[str, Any], place: str) -> None:
    assert f"schema at {place}: " in refusal(**schema)


def test_a_default_below_additional_items_is_refused() -> None:
    schema = {"$schema": DRAFTS[7], "properties": {"l": {"items": [{}], "additionalItems": {"properties": {"a": ONE}}}}}
    assert "additionalItems/properties/a/default" in refusal(**schema)


def test_a_default_beside_a_reference_that_hides_it_is_refused() -> None:
    schema = {
        "$schema": DRAFTS[7],
        "definitions": {"n": {}},
        "properties": {"a": {"$ref": "#/definitions/n", "default": 1}},
    }
    assert "beside $ref" in refusal(**schema)


def test_a_default_that_nothing_reaches_is_no_matter() -> None:
    assert parsed({"$defs": {"unused": {"anyOf": [ONE]}}, "x-note": ONE}, {}) == {}


@pytest.mark.parametrize("keyword", KEYWORDS, ids=lambda keyword: keyword.name)
@pytest.mark.parametrize("draft", DRAFTS)
def test_the_table_of_keywords_is_what_the_validator_does(draft: int, keyword: Any) -> None:
    """A subschema `false` under the keyword rejects something exactly where the table says that it is evaluated."""
    probes: dict[str, tuple[Any, Any]] = {
        "allOf": ([{"not": {}}], 1), "anyOf": ([{"not": {}}], 1), "oneOf": ([{"not": {}}], 1), "not": ({}, 1),
        "properties": ({"k": {"not": {}}}, {"k": 1}), "patternProperties": ({"k": {"not": {}}}, {"k": 1}),
        "additionalProperties": ({"not": {}}, {"k": 1}), "unevaluatedProperties": ({"not": {}}, {"k": 1}),
        "propertyNames": ({"not": {}}, {"k": 1}), "items": ({"not": {}}, [1]), "prefixItems": ([{"not": {}}], [1]),
        "additionalItems": ({"not": {}}, [1, 1]), "contains": ({"not": {}}, [1]), "unevaluatedItems": ({"not": {}}, [1]),
        "dependencies": ({"k": {"not": {}}}, {"k": 1}), "dependentSchemas": ({"k": {"not": {}}}, {"k": 1}),
        "if": ({}, 1), "then": ({"not": {}}, 1), "else": ({"not": {}}, 1),
    }  # fmt: skip
    held, value = probes[keyword.name]
    inner = {keyword.name: held}
    if keyword.name == "if":
        inner["then"] = {"not": {}}
    elif keyword.name in {"then", "else"}:
        inner["if"] = {} if keyword.name == "then" else {"not": {}}
    elif keyword.name == "additionalItems":
        inner["items"] = {} if draft == 2020 else [{}]
    schema = {"$schema": DRAFTS[draft], "type": "object", "properties": {"a": inner}}
    numbers = {4: jsonschema_rs.Draft4, 6: jsonschema_rs.Draft6, 7: jsonschema_rs.Draft7}
    numbers |= {2019: jsonschema_rs.Draft201909, 2020: jsonschema_rs.Draft202012}
    evaluated = not jsonschema_rs.is_valid(schema, {"a": value}, draft=numbers[draft])
    document = SchemaDocument(schema, "t")
    listed = {sub.name for sub, _ in document.subschemas(("properties", "a"))}
    assert (keyword.name in listed) == evaluated
