"""What a JSON Schema may cost: linear patterns, bounded repetition; and its formats."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from aioc_opa.core.tool_schemas.json_schema import _VALIDATORS, JsonSchemaTool
from aioc_opa.errors import ToolRegistrationError
from tests.core.tool_schemas.json_schema_cases import DRAFTS, issue, nested, refusal, tool

# -- rule 2: linear patterns


def test_a_catastrophic_pattern_runs_in_linear_time() -> None:
    schema = tool(properties={"a": {"pattern": "^(a+)+$"}})
    assert issue(schema, {"a": "a" * 500_000 + "!"}).code == "pattern"


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "("])
def test_a_pattern_that_the_linear_engine_does_not_take_is_refused(pattern: str) -> None:
    assert "#/properties/a/pattern" in refusal(properties={"a": {"pattern": pattern}})
    assert "linear time" in refusal(patternProperties={pattern: {}})


# -- rule 3: bounded repetition


def test_a_reference_to_itself_for_the_same_value_is_refused() -> None:
    assert "back to itself" in refusal(**{"$ref": "#"})
    both = {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}
    assert "#/$defs/a" in refusal(**{"$defs": both, "properties": {"x": {"$ref": "#/$defs/b"}}})


def test_references_that_double_are_refused() -> None:
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    assert "subschemas apply" in refusal(**{"$defs": {**doubling, "d40": {}}, "$ref": "#/$defs/d0"})


def test_nested_unevaluated_keywords_count_twice() -> None:
    inner: dict[str, Any] = {}
    for _ in range(14):
        inner = {"unevaluatedProperties": False, "allOf": [inner]}
    assert "subschemas apply" in refusal(**inner)


RECURSIVE = {
    "n": {
        "anyOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}}, {"properties": {"x": {"$ref": "#/$defs/n"}}}],
        "not": {"required": ["bad"]},
    }
}


def test_recursion_that_doubles_is_bounded_for_each_call() -> None:
    schema = tool(**{"$defs": RECURSIVE, "properties": {"e": {"$ref": "#/$defs/n"}}})
    assert issue(schema, {"e": nested(3)}).code == "anyOf"
    assert issue(schema, {"e": nested(12)}).code == "schema"  # rejected, but not searched for the place
    assert issue(schema, {"e": nested(60)}).code == "too_costly"
    assert schema.parse('{"e":{"x":{"x":{}}}}')


def test_recursion_that_does_not_double_takes_the_deepest_arguments() -> None:
    schema = tool(properties={"children": {"type": "array", "items": {"$ref": "#"}}}, additionalProperties=False)
    value: dict[str, Any] = {}
    for _ in range(30):
        value = {"children": [value, value]} if len(json.dumps(value)) < 1000 else {"children": [value]}
    assert schema.parse(json.dumps(value)) == value


def test_many_alternatives_for_many_values_are_bounded_too() -> None:
    schema = tool(properties={"a": {"items": {"anyOf": [{"const": n} for n in range(2000)]}}})
    assert schema.parse(json.dumps({"a": [1999] * 3000}))
    assert issue(schema, {"a": [1999] * 40_000}).code == "too_costly"
    text = json.dumps({"a": [1], "b": "x" * 900_000})  # long, but few values
    assert schema.parse(text)["a"] == [1]


def test_a_rejected_call_with_many_values_in_alternatives_is_not_explained_at_length() -> None:
    schema = tool(properties={"a": {"anyOf": [{"items": {"type": "string"}}, {"type": "string"}]}})
    assert issue(schema, {"a": [1] * 50_000}).code == "schema"
    assert issue(schema, {"a": [1] * 50}).code == "anyOf"


# -- the document itself


@pytest.mark.parametrize("kind", ["string", "array", ["object", "null"], None])
def test_the_top_level_is_an_object(kind: Any) -> None:
    schema: dict[str, Any] = {} if kind is None else {"type": kind}
    with pytest.raises(ToolRegistrationError, match='"type": "object"'):
        JsonSchemaTool(schema, tool_name="t")


@pytest.mark.parametrize(
    "schema", [{"type": "object", "properties": {"a": (1,)}}, {"type": "object", 3: 4}, {"type": "object", "x": {1}}]
)
def test_a_schema_that_is_not_plain_json_is_refused(schema: Any) -> None:
    with pytest.raises(ToolRegistrationError):
        JsonSchemaTool(schema, tool_name="t")


def test_a_schema_that_is_no_object_or_a_cycle_is_refused() -> None:
    with pytest.raises(ToolRegistrationError, match="is a JSON object"):
        JsonSchemaTool([], tool_name="t")  # type: ignore[arg-type]
    cycle: dict[str, Any] = {"type": "object"}
    cycle["properties"] = {"a": cycle}
    with pytest.raises(ToolRegistrationError, match="cycle"):
        JsonSchemaTool(cycle, tool_name="t")


@pytest.mark.parametrize("schema", [{"properties": []}, {"properties": {"a": {"type": "objct"}}}, {"required": "a"}])
def test_a_schema_that_its_draft_refuses_is_refused(schema: Any) -> None:
    assert "not a valid schema" in refusal(**schema)


def test_a_validator_that_cannot_be_built_is_a_refusal_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise jsonschema_rs.ReferencingError("s3cret")

    monkeypatch.setitem(_VALIDATORS, 2020, fails)
    assert refusal().endswith("not a usable schema: ReferencingError")


def test_a_rejection_that_a_second_look_does_not_find_stays_one() -> None:
    """The verdict is the one validation's; locating the place is for the message only."""

    class Moody:
        def is_valid(self, _: object) -> bool:
            return False

        def validate(self, _: object) -> None:
            return None

    schema = tool()
    schema._validator = Moody()  # type: ignore[assignment]
    assert issue(schema, {}).code == "schema"


# -- rule 5: formats


@pytest.mark.parametrize("draft", DRAFTS.values())
def test_formats_are_asserted_in_every_draft(draft: str) -> None:
    schema = tool(**{"$schema": draft, "properties": {"a": {"format": "date-time"}}})
    assert issue(schema, {"a": "tomorrow"}).code == "format"
    assert schema.parse('{"a":"2024-05-15T15:00:00Z"}')


def test_an_unknown_format_says_nothing() -> None:
    assert tool(properties={"a": {"type": "integer", "format": "int32"}}).parse('{"a":1}') == {"a": 1}
