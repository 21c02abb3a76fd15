"""JSON Schema tools: offline, linear, one validation, JSON Schema's own meaning."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema import _VALIDATORS, JsonSchemaTool
from aioc_opa.core.tool_schemas.json_schema_document import SchemaDocument
from aioc_opa.core.tool_schemas.json_schema_issues import issue_of
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError, SchemaRejectionError
from aioc_opa.errors import ArgumentIssue, ToolRegistrationError

if TYPE_CHECKING:
    from pathlib import Path

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def tool(**schema: Any) -> JsonSchemaTool:
    return JsonSchemaTool({"type": "object", **schema}, tool_name="t")


def issue(schema: JsonSchemaTool, arguments: Any) -> ArgumentIssue:
    with pytest.raises(SchemaRejectionError) as caught:
        schema.parse(json.dumps(arguments))
    (only,) = caught.value.issues
    return only


def refusal(**schema: Any) -> str:
    with pytest.raises(ToolRegistrationError) as caught:
        tool(**schema)
    return str(caught.value)


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


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"bad": 1}
    for _ in range(depth):
        value = {"x": value}
    return value


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
