"""JSON Schema tools: offline, linear, one validation, JSON Schema's own meaning."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.json_schema_issues import issue_of
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError, SchemaRejectionError

if TYPE_CHECKING:
    from pathlib import Path
from tests.core.tool_schemas.json_schema_cases import DRAFTS, issue, tool

# -- what JSON Schema says (RULES 0.5)


def test_unknown_keys_pass() -> None:
    assert tool(properties={"a": {}}).parse('{"b":1}') == {"b": 1}


def test_integer_accepts_a_number_without_fractional_part() -> None:
    schema = tool(properties={"a": {"type": "integer"}})
    parsed = schema.parse('{"a":7.0}')
    assert schema.canonical_text(parsed) == '{"a":7}'


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_booleans_are_not_numbers(kind: str, value: bool) -> None:
    assert issue(tool(properties={"a": {"type": kind}}), {"a": value}).code == "type"


def test_every_recorded_airline_call_parses_to_what_was_requested(repository: Path) -> None:
    folder = repository / "examples" / "airline"
    tools = {
        entry["name"]: JsonSchemaTool(entry["inputSchema"], tool_name=entry["name"])
        for entry in json.loads((folder / "tools.json").read_text())
    }
    for line in (folder / "calls.jsonl").read_text().splitlines():
        call = json.loads(line)
        assert tools[call["toolName"]].parse(call["rawArguments"]) == json.loads(call["rawArguments"])


# -- the ToolSchema protocol


def test_two_parses_share_nothing() -> None:
    schema = tool(properties={"a": {"default": {"b": [1]}}})
    first, second = schema.parse("{}"), schema.parse("{}")
    first["a"]["b"].append(2)  # type: ignore[index,union-attr,call-overload]
    assert second == {"a": {"b": [1]}}
    assert schema.parse("{}") == {"a": {"b": [1]}}


def test_the_handler_gets_the_very_object_that_was_parsed() -> None:
    schema = tool()
    parsed = schema.parse('{"a":1}')
    arguments, keywords = schema.bind(parsed)
    assert arguments[0] is parsed
    assert (len(arguments), keywords) == (1, {})


def test_canonical_text_is_rfc8785_and_refuses_what_has_none() -> None:
    schema = tool()
    assert schema.canonical_text({"b": 1.0, "a": "é"}) == '{"a":"é","b":1}'
    with pytest.raises(NotCanonicalError):
        schema.canonical_text({"a": {1, 2}})


def test_export_is_a_copy_of_the_schema() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = JsonSchemaTool(given, tool_name="t")
    exported = schema.export()
    assert exported == given
    exported["properties"]["a"]["type"] = "integer"  # type: ignore[index,call-overload]
    assert schema.export() == given


def test_changing_the_given_schema_afterwards_changes_nothing() -> None:
    given: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    schema = JsonSchemaTool(given, tool_name="t")
    given["properties"]["a"].update(type="integer", default=3)
    assert schema.parse("{}") == {"a": "x"}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000])
def test_text_that_the_strict_decoder_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(SchemaRejectionError):
        tool().parse(text)


# -- errors: keyword, place, no value


@pytest.mark.parametrize(
    ("schema", "value", "code", "said"),
    [
        ({"type": "integer"}, "s3cret", "type", "is not of type integer"),
        ({"type": ["string", "null"]}, 1, "type", "null or string"),
        ({"enum": ["x", 1]}, "s3cret", "enum", 'one of ["x",1]'),
        ({"enum": [str(n) * 9 for n in range(40)]}, "s3cret", "enum", "one of the declared values"),
        ({"enum": [2**60]}, "s3cret", "enum", "one of the declared values"),
        ({"const": 3}, "s3cret", "const", "is not 3"),
        ({"pattern": "^x$"}, "s3cret", "pattern", "'^x$'"),
        ({"format": "date"}, "s3cret", "format", "'date'"),
        ({"maxLength": 2}, "s3cret", "maxLength", "longer than 2"),
        ({"minLength": 20}, "s3cret", "minLength", "shorter than 20"),
        ({"maximum": 1}, 2, "maximum", "greater than 1"),
        ({"minimum": 3}, 2, "minimum", "less than 3"),
        ({"exclusiveMaximum": 2}, 2, "exclusiveMaximum", "less than 2"),
        ({"exclusiveMinimum": 2}, 2, "exclusiveMinimum", "greater than 2"),
        ({"multipleOf": 3}, 2, "multipleOf", "multiple of 3"),
        ({"minItems": 2}, ["s3cret"], "minItems", "fewer than 2"),
        ({"maxItems": 0}, ["s3cret"], "maxItems", "more than 0"),
        ({"uniqueItems": True}, ["s3cret", "s3cret"], "uniqueItems", "two equal"),
        ({"contains": {"type": "integer"}}, ["s3cret"], "contains", "must contain"),
        ({"minProperties": 2}, {"s3cret": 1}, "minProperties", "fewer than 2"),
        ({"maxProperties": 0}, {"s3cret": 1}, "maxProperties", "more than 0"),
        ({"required": ["b"]}, {"s3cret": 1}, "required", "'b' is missing"),
        ({"dependentRequired": {"s3cret": ["b"]}}, {"s3cret": 1}, "required", "'b' is missing"),
        ({"additionalProperties": False, "properties": {"b": {}}}, {"s3cret": 1}, "additionalProperties", "not declared"),
        ({"unevaluatedProperties": False, "allOf": [{"properties": {"b": {}}}]}, {"s3cret": 1}, "unevaluatedProperties", "not declared"),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, "s3cret"], "unevaluatedItems", "more items"),
        ({"propertyNames": {"maxLength": 1}}, {"s3cret": 1}, "propertyNames", "name is not allowed"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "s3cret", "anyOf", "none of the alternatives"),
        ({"oneOf": [{}, {}]}, "s3cret", "oneOf", "exactly one"),
        ({"not": {}}, "s3cret", "not", "excluded"),
    ],
)  # fmt: skip
def test_an_issue_names_keyword_and_place_but_not_the_value(schema: Any, value: Any, code: str, said: str) -> None:
    found = issue(tool(properties={"a": schema}), {"a": value})
    assert found.code == code
    assert found.path == ("a",)
    assert said in found.message
    assert "s3cret" not in found.message


def test_false_schema_and_nested_places() -> None:
    found = issue(tool(properties={"a": {"items": {"properties": {"b": False}}}}), {"a": [{}, {"b": 1}]})
    assert (found.code, found.path, found.message) == ("falseSchema", ("a", 1, "b"), "must not be there")


@pytest.mark.parametrize(
    ("keyword", "said"), [("backtrackLimitExceeded", "'backtrackLimitExceeded'"), ("new", "'new'")]
)
def test_a_keyword_without_a_sentence_is_named(keyword: str, said: str) -> None:
    kind = SimpleNamespace(name=keyword, as_dict=lambda: {"error": "s3cret"})
    error: Any = SimpleNamespace(kind=kind, instance_path=["a" * 200, 0])
    found = issue_of(error)
    assert found.code == keyword
    assert said in found.message
    assert found.path == ("a" * 80 + "…", 0)


def test_items_that_a_draft_does_not_allow_are_an_issue() -> None:
    found = issue(
        JsonSchemaTool(
            {"$schema": DRAFTS[7], "type": "object", "properties": {"a": {"items": [{}], "additionalItems": False}}},
            tool_name="t",
        ),
        {"a": [1, 2]},
    )
    assert found.code in {"additionalItems", "falseSchema"}
