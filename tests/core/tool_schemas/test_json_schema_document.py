"""What a JSON Schema must not have in it: references that lead outside, other dialects, what its draft refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.json_schema_document import SchemaDocument
from aioc_opa.errors import ToolRegistrationError
from tests.core.tool_schemas.json_schema_cases import DRAFTS, issue, refusal, tool

# -- rule 1: offline


@pytest.mark.parametrize(
    "reference",
    ["http://example.com/x.json", "https://json-schema.org/draft/2020-12/schema", "file:///etc/passwd", "other.json",
     "other.json#/x", "urn:x:y", "#anchor", "", 3],
)  # fmt: skip
def test_a_reference_that_is_not_local_is_refused_with_its_place(reference: Any) -> None:
    said = refusal(properties={"a": {"items": {"$ref": reference}}})
    assert "#/properties/a/items" in said
    assert "not local" in said


def test_a_remote_reference_in_an_unused_definition_is_refused() -> None:
    assert "#/$defs/unused" in refusal(**{"$defs": {"unused": {"$ref": "http://example.com/"}}})


@pytest.mark.parametrize("reference", ["#/$defs/nope", "#/properties/a/items/7", "#/properties/a/items/x", "#/type/x"])
def test_a_reference_to_nothing_is_refused(reference: str) -> None:
    assert "leads to nothing" in refusal(properties={"a": {"items": [1]}, "b": {"$ref": reference}})


def test_a_reference_to_what_is_no_schema_is_refused() -> None:
    assert "does not lead to a schema" in refusal(properties={"b": {"$ref": "#/type"}})


def test_references_are_json_pointers_with_escapes_and_indexes() -> None:
    schema = tool(
        **{"$defs": {"a/b~c": {"type": "string"}}, "allOf": [{"properties": {"y": {"type": "integer"}}}]},
        properties={"x": {"$ref": "#/$defs/a~1b~0c"}, "y": {"$ref": "#/allOf/0/properties/y"}},
    )
    assert schema.parse('{"x":"s","y":1}')
    assert issue(schema, {"x": 1}).code == "type"


@pytest.mark.parametrize("reference", ["#/$defs/a%2Fb", "#/$defs/a%62", "#/%"])
def test_percent_encoding_in_a_reference_is_refused(reference: str) -> None:
    """The validator decodes first and splits afterwards: ``%2F`` would be a slash to it."""
    definitions: dict[str, Any] = {"a/b": {}, "ab": {}, "a": {"b": {}}}
    assert "reads two ways" in refusal(**{"$defs": definitions, "properties": {"x": {"$ref": reference}}})


@pytest.mark.parametrize("reference", ["#/allOf/00", "#/allOf/01", "#/allOf/-", "#/allOf/٠", "#/allOf/" + "9" * 9999])
def test_an_index_is_written_as_rfc_6901_says(reference: str) -> None:
    assert "leads to nothing" in refusal(allOf=[{}, {}], properties={"x": {"$ref": reference}})


def test_a_tilde_that_escapes_nothing_is_refused() -> None:
    assert "~0" in refusal(**{"$defs": {"~2": {}, "~": {}}, "properties": {"x": {"$ref": "#/$defs/~2"}}})
    assert "~0" in refusal(**{"$defs": {"~2": {}, "~": {}}, "properties": {"x": {"$ref": "#/$defs/~"}}})


_names = st.sampled_from(["a", "b", "a/b", "~", "~1", "~0", "0", "01", "1", "", "é", " ", "+", "#", "?", "a~1b"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(_names, _names), min_size=1, max_size=6), st.text("ab~01/é +#?", max_size=6))
def test_a_reference_leads_where_the_validator_goes(places: list[tuple[str, str]], pointer: str) -> None:
    definitions: dict[str, Any] = {}
    for outer, inner in places:
        definitions.setdefault(outer, {"const": outer})[inner] = {"const": f"{outer}|{inner}"}
    root: dict[str, Any] = {
        "type": "object",
        "$defs": definitions,
        "properties": {"x": {"$ref": "#/$defs/" + pointer}},
    }
    try:
        document = SchemaDocument(root, "t")
        schema = JsonSchemaTool(root, tool_name="t")
    except ToolRegistrationError:
        return
    target: Any = document.at(document.resolve("#/$defs/" + pointer, ()))
    assert schema.parse(json.dumps({"x": target["const"]}))
    assert issue(schema, {"x": "something else"}).code == "const"


@pytest.mark.parametrize("keyword", ["const", "default", "enum", "examples"])
def test_a_reference_into_data_is_refused(keyword: str) -> None:
    """Nothing in there was checked as a schema: it may hold a `$schema`, an `$id` or a remote reference."""
    inner = {"$schema": DRAFTS[7], "$ref": "#/$defs/i", "maximum": 100}
    said = refusal(
        **{"$defs": {"d": {keyword: [inner]}, "i": {}}, "properties": {"x": {"$ref": f"#/$defs/d/{keyword}/0"}}}
    )
    assert "does not lead to a schema" in said
    named = tool(**{"$defs": {keyword: {"type": "string"}}, "properties": {"x": {"$ref": f"#/$defs/{keyword}"}}})
    assert issue(named, {"x": 1}).code == "type"


@pytest.mark.parametrize("dialect", DRAFTS.values())
def test_a_nested_dialect_is_refused(dialect: str) -> None:
    """The validator would read what is below by another draft, and drop `maximum` beside `$ref`."""
    amount = {"$schema": dialect, "$ref": "#/$defs/i", "maximum": 100}
    said = refusal(**{"$defs": {"i": {"type": "integer"}}, "properties": {"amount": amount}})
    assert "#/properties/amount" in said
    assert "nested '$schema'" in said
    assert issue(tool(properties={"$schema": {"type": "string"}}), {"$schema": 1}).code == "type"


def test_names_and_data_that_look_like_references_are_none() -> None:
    schema = tool(
        properties={
            "$ref": {"type": "string"},
            "properties": {"type": "object"},
            "$id": {"const": {"$ref": "http://example.com"}},
            "e": {"enum": [{"$ref": "http://example.com"}], "examples": [{"$id": "x"}]},
        },
        dependentSchemas={"$ref": {}},
    )
    assert schema.parse('{"$ref":"x"}') == {"$ref": "x"}


@pytest.mark.parametrize(("draft", "identifier"), [(4, "id"), (7, "$id"), (2020, "$id")])
def test_a_nested_identifier_is_refused_and_the_roots_own_is_not(draft: int, identifier: str) -> None:
    root = {"$schema": DRAFTS[draft], "type": "object", identifier: "http://example.com/tool"}
    JsonSchemaTool({**root, "properties": {"a": {"$ref": "#/definitions/n"}}, "definitions": {"n": {}}}, tool_name="t")
    with pytest.raises(ToolRegistrationError, match="nested"):
        JsonSchemaTool({**root, "properties": {"a": {identifier: "http://example.com/a"}}}, tool_name="t")


@pytest.mark.parametrize("keyword", ["$dynamicRef", "$recursiveRef"])
def test_dynamic_references_are_refused(keyword: str) -> None:
    assert "write a local $ref" in refusal(properties={"a": {keyword: "#"}})


@pytest.mark.parametrize("dialect", ["http://example.com/dialect", "http://json-schema.org/schema#", 7, None])
def test_an_unknown_dialect_is_refused(dialect: Any) -> None:
    if dialect is None:
        assert tool().export() == {"type": "object"}
    else:
        assert "unknown dialect" in refusal(**{"$schema": dialect})


def test_without_schema_keyword_the_draft_is_2020_12() -> None:
    assert issue(tool(properties={"a": {"prefixItems": [{"type": "string"}]}}), {"a": [1]}).path == ("a", 0)
