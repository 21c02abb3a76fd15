"""Defaults that conflict, that have no end, that do not fit; and what holds for all that are registered."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ToolRegistrationError
from tests.core.tool_schemas.defaults_cases import ONE, parsed
from tests.core.tool_schemas.json_schema_cases import DRAFTS, issue, refusal, tool

# -- conflicting, endless, unfit


def test_two_different_defaults_for_one_property_are_refused() -> None:
    said = refusal(allOf=[{"properties": {"a": ONE}}, {"properties": {"a": {"default": 2}}}])
    assert "#/allOf/0/properties/a/default" in said
    assert "#/allOf/1/properties/a/default" in said
    assert "another default" in refusal(
        **{"$defs": {"n": ONE}, "properties": {"a": {"$ref": "#/$defs/n", "default": 2}}}
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#", "default": {}}}},
        {"properties": {"a": {"default": [{}], "items": {"$ref": "#"}}}},
        {"$defs": {"x": {"properties": {"y": {"$ref": "#/$defs/y", "default": {}}}},
                   "y": {"properties": {"x": {"$ref": "#/$defs/x", "default": {}}}}},
         "properties": {"a": {"$ref": "#/$defs/x"}}},
    ],
)  # fmt: skip
def test_a_default_without_end_is_refused(schema: dict[str, Any]) -> None:
    assert "without end" in refusal(**schema)


def doubling(levels: int) -> dict[str, Any]:
    tree = {
        f"d{n}": {"properties": {name: {"$ref": f"#/$defs/d{n + 1}", "default": {}} for name in "ab"}}
        for n in range(levels)
    }
    return {"$defs": {**tree, f"d{levels}": {}}, "properties": {"z": {"$ref": "#/$defs/d0"}}}


def test_defaults_that_multiply_are_refused() -> None:
    assert parsed(doubling(3), {"z": {"a": {"a": {"a": 1}}}})["z"]["b"] == {
        "a": {"a": {}, "b": {}},
        "b": {"a": {}, "b": {}},
    }
    chain = {
        "$defs": {
            **{f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{n + 1}", "default": {}}}} for n in range(70)},
            "d70": {},
        }
    }
    assert "without end" in refusal(**chain, properties={"z": {"$ref": "#/$defs/d0"}})
    wide = {"default": [{}] * 200, "items": {"properties": {"a": {"default": [0] * 100}}}}
    assert "more than 10000 values" in refusal(properties={"a": wide})


def test_defaults_cannot_blow_up_a_call() -> None:
    schema = tool(properties={"a": {"items": {"properties": {"b": {"default": [0] * 5000}}}}})
    assert len(schema.parse('{"a":[{},{}]}')["a"]) == 2  # type: ignore[arg-type]
    assert issue(schema, {"a": [{}] * 30}).code == "default"


def test_too_many_combinations_of_schemas_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioc_opa.core.tool_schemas.json_schema_defaults.MAX_STATES", 3)
    assert "combinations" in refusal(properties={name: {"title": name} for name in "abcdef"})


def test_combinations_that_take_long_to_work_out_are_refused() -> None:
    reference = {"$ref": "#/$defs/r"}
    wide = {
        "properties": {f"k{n}": reference for n in range(100)},
        "patternProperties": {f"^k{n}": reference for n in range(40)},
    }
    assert "combinations" in refusal(**{"$defs": {"r": wide}, "properties": {"n": reference}})


def test_the_text_of_defaults_is_counted_too() -> None:
    schema = tool(properties={"a": {"items": {"properties": {"b": {"default": "x" * 30_000}}}}})
    assert schema.parse('{"a":[{}]}')
    assert issue(schema, {"a": [{}] * 1000}).code == "default"
    assert "values" in refusal(properties={"a": {"default": {"k" * 400_000: 1}}})
    long = {"properties": {"a": {"type": "string", "description": "x" * 1_000_000}}}
    assert tool(**long).export() == {"type": "object", **long}


@pytest.mark.parametrize("default", [2**60, {"a": [2**53]}, "\ud800", float("nan")])
def test_a_default_without_canonical_form_is_refused(default: Any) -> None:
    assert "#/properties/a/default" in refusal(properties={"a": {"default": default}})


def test_a_default_that_its_own_schema_rejects_is_refused() -> None:
    assert "does not fit its own schema" in refusal(properties={"a": {"type": "string", "default": None}})
    assert "does not fit" in refusal(
        allOf=[{"properties": {"a": {"default": 1}}}, {"properties": {"a": {"minimum": 2}}}]
    )
    assert "does not fit" in refusal(
        **{"$schema": DRAFTS[7], "definitions": {"n": {"type": "string", "default": 1}}},
        properties={"a": {"$ref": "#/definitions/n"}},
    )


def test_the_one_validation_sees_what_was_filled_in() -> None:
    """`maxProperties` counts the default: what is validated is what is judged."""
    with pytest.raises(SchemaRejectionError):
        parsed({"properties": {"a": ONE}, "maxProperties": 1}, {"b": 1})


# -- properties

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    leaf = st.fixed_dictionaries(
        {}, optional={"default": _values, "type": st.sampled_from(["object", "array", "integer"])}
    )

    def extend(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
                "items": inner,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "default": _values,
                "$ref": st.sampled_from(["#", "#/$defs/d"]),
            },
        )

    return st.recursive(leaf, extend, max_leaves=8)


@settings(max_examples=400, deadline=None)
@given(_schemas(), _schemas(), st.dictionaries(st.sampled_from("abc"), _values, max_size=3))
def test_whatever_is_registered_fills_adds_only_and_validates(
    root: dict[str, Any], definition: dict[str, Any], arguments: dict[str, Any]
) -> None:
    root = {**root, "type": "object", "$defs": {"d": definition}}
    before = copy.deepcopy(root)
    try:
        schema = JsonSchemaTool(root, tool_name="t")
    except ToolRegistrationError:
        return
    assert root == before
    try:
        first = schema.parse(json.dumps(arguments))
    except SchemaRejectionError:
        return
    assert jsonschema_rs.is_valid(root, first)
    assert schema.parse(json.dumps(first)) == first  # filling is idempotent
    assert _kept(arguments, first)


def _kept(asked: Any, got: Any) -> bool:
    """Filling adds properties, and changes nothing that was there."""
    if isinstance(asked, dict):
        return isinstance(got, dict) and all(key in got and _kept(item, got[key]) for key, item in asked.items())
    if isinstance(asked, list):
        return isinstance(got, list) and len(asked) == len(got) and all(map(_kept, asked, got))
    return type(asked) is type(got) and bool(asked == got)
