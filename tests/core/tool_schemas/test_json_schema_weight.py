"""Work is bounded for hostile schemas and arguments within the limits: decided, or refused as too costly."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema_cost import CostMeter
from aioc_opa.core.tool_schemas.json_schema_document import SchemaDocument
from aioc_opa.core.tool_schemas.json_schema_walk import MAX_STEPS, Walk
from aioc_opa.core.tool_schemas.json_schema_weight import number_units, weight_of
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ToolRegistrationError
from tests.core.tool_schemas.json_schema_cases import issue, tool

AB = "".join(random.Random(1).choices("ab", k=200_000))  # noqa: S311 - test data
REFERENCE = {"$ref": "#/$defs/r"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": r"[^a]{900}\b$"}, "é" * 500_000),
        ({"pattern": r"[^a]{255}\b$"}, "é" * 500_000),
        ({"pattern": "[ab]*a[ab]{300}c"}, AB),
        ({"format": "idn-hostname", "allOf": [{"format": "idn-hostname"}] * 40}, "é." * 250_000),
        ({"items": {"enum": [{"k": f"v{n}", "x": "y"} for n in range(2000)]}}, [{"k": "v1999", "x": "y"}] * 9000),
        ({"items": {"enum": [n + 0.5 for n in range(5000)]}}, [4999.5] * 9000),
        ({"items": {"enum": list(range(5000))}}, [7.5] * 9000),
        ({"items": {"minimum": 0}}, [1e-300] * 50_000),
        ({"items": {"multipleOf": 5e-324}}, [1e300] * 50_000),
        ({"items": {"const": {"a": 7}}}, [{"a": 1e-300}] * 40_000),
        ({"patternProperties": {f"xy{n}": {} for n in range(4000)}}, {f"x{n}zzzz": 1 for n in range(1000)}),
        ({"patternProperties": {f"x{{9}}y{n}": {} for n in range(1000)}}, {f"xxxxxxxxxx{n}": 1 for n in range(24_000)}),
        ({"propertyNames": {"pattern": r"[^a]{900}\b$"}}, {"é" * 200_000: 1}),
        ({"allOf": [{"uniqueItems": True}] * 300}, [[0] * 300 + [n] for n in range(200)]),
        ({"items": {"dependentRequired": {f"k{n}": [f"k{m}" for m in range(300)] for n in range(300)}}},
         [{f"k{n}": 1 for n in range(300)}] * 900),
    ],
)  # fmt: skip
def test_more_work_than_a_call_may_take_is_refused(schema: Any, value: Any) -> None:
    assert issue(tool(properties={"a": schema}), {"a": value}).code == "too_costly"
    assert issue(
        tool(**{"$defs": {"r": {"properties": {"a": schema, "r": REFERENCE}}}, **REFERENCE}), {"a": value}
    ).code == ("too_costly")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}},
         ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"] * 20_000),
        ({"pattern": "^[^\\s@]+@[^\\s@]+$"}, "a" * 400_000 + "@b"),
        ({"items": {"enum": [f"c{n}" for n in range(2000)]}}, ["c1999"] * 90_000),
        ({"items": {"enum": list(range(2000))}}, [1999] * 90_000),
        ({"items": {"minimum": -90, "maximum": 90}}, [12.345678] * 60_000),
        ({"items": {"multipleOf": 0.01}}, [12.34] * 50_000),
        ({"items": {"minimum": 0, "maximum": 100, "multipleOf": 5}}, [45] * 90_000),
        ({"uniqueItems": True}, list(range(90_000))),
        ({"patternProperties": {"^x-": {}}, "additionalProperties": {}}, {f"x-{n}": 1 for n in range(40_000)}),
        ({"items": {"format": "date-time"}}, ["2024-05-15T15:00:00Z"] * 40_000),
        ({"maxLength": 1_000_000, "pattern": "^.*$", "const": "x" * 1_000_000}, "x" * 1_000_000),
    ],
)  # fmt: skip
def test_large_arguments_of_ordinary_schemas_are_decided(schema: Any, value: Any) -> None:
    assert tool(properties={"a": schema}).parse(json.dumps({"a": value})) == {"a": value}


def test_text_after_text_counts_in_bytes() -> None:
    schema = tool(properties={"a": {"items": {"pattern": r"[^a]{200}\b$"}}})
    assert issue(schema, {"a": ["b" * 100] * 1500}).code == "pattern"
    assert issue(schema, {"a": ["é" * 100] * 1500}).code == "too_costly"


def test_values_that_meet_the_same_schemas_are_one_step() -> None:
    """400 schemas for each of 24,000 properties were 9,600,000 steps of Python, 5.5 s."""
    keys: Any = {f"x{n}": {"type": "integer"} for n in range(400)}
    meter = CostMeter(SchemaDocument({"type": "object", "patternProperties": keys}, "t"))
    entries = 0

    def counting(place: Any) -> Any:
        nonlocal entries
        entries += 1
        return meter._entry(place)

    Walk(counting).exceeds({f"k{n}": 1 for n in range(24_000)}, None)
    assert entries == 401


def test_the_walk_itself_is_bounded() -> None:
    """Meetings that keep being new: the counts grow with the depth, the schemas with the width."""
    wide: Any = {"properties": {f"k{n}": REFERENCE for n in range(3000)}, "additionalProperties": REFERENCE}
    meter = CostMeter(SchemaDocument({"type": "object", "$defs": {"r": wide}, **REFERENCE}, "t"))
    value: Any = {}
    for _ in range(2):
        value = {f"k{n}": value for n in range(300)}
    assert MAX_STEPS > 90_000
    assert meter.exceeds(value)


@pytest.mark.parametrize(
    ("number", "units"),
    [(7, 0), (-(2**53) + 1, 0), (2**60, 150), (0.5, 40), (-2.5, 40), (1e300, 150), (1e-300, 500), (0.0, 1)],
)
def test_a_number_weighs_as_an_exact_fraction(number: float, units: int) -> None:
    assert number_units(number) == units


@pytest.mark.parametrize(
    "schema",
    [
        {"required": 3}, {"enum": 3}, {"pattern": 3}, {"format": 3}, {"patternProperties": []}, {"minimum": "3"},
        {"dependentRequired": []}, {"dependencies": {"a": {}}}, {"minimum": True}, {"uniqueItems": 1},
    ],
)  # fmt: skip
def test_what_no_draft_takes_weighs_next_to_nothing(schema: Any) -> None:
    assert weight_of(schema).on([1, 2, 3]) <= 2


# -- properties


def _sum_without_sharing(document: SchemaDocument, value: Any, place: Any = ()) -> int:
    """The same sum by plain recursion: every look by itself."""
    schema: Any = document.at(place)
    if type(schema) is not dict:
        return 1
    looks = weight_of(schema).on(value)
    if "$ref" in schema:
        looks += _sum_without_sharing(document, value, document.resolve(schema["$ref"], place))
    for keyword, sub in document.subschemas(place):
        children: list[Any] = []
        if keyword.name == "propertyNames":
            children = list(value) if type(value) is dict else []
        elif keyword.role in {"all", "some"}:
            children = [value]
        elif keyword.role == "property":
            children = [value[sub[-1]]] if type(value) is dict and sub[-1] in value else []
        elif type(value) is dict or type(value) is list:
            children = list(value.values() if type(value) is dict else value)
        looks += sum(_sum_without_sharing(document, child, sub) for child in children)
    return looks


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    leaf = st.fixed_dictionaries(
        {},
        optional={
            "pattern": st.sampled_from(["a{9}", "[ab]*a[ab]{300}c"]),
            "enum": st.lists(st.sampled_from([1, 0.5, 1e-300, "a", {"a": 1}]), min_size=1, max_size=3),
            "minimum": st.sampled_from([0, 0.1, 1e300]),
            "format": st.sampled_from(["uri", "idn-email"]),
            "uniqueItems": st.booleans(),
            "$ref": st.sampled_from(["#", "#/$defs/d"]),
        },
    )

    def extend(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        named = st.dictionaries(st.sampled_from(["a", "b", "x{9}"]), inner, max_size=2)
        return st.fixed_dictionaries(
            {},
            optional={
                "properties": named, "patternProperties": named, "additionalProperties": inner, "propertyNames": inner,
                "items": inner, "contains": inner, "allOf": st.lists(inner, min_size=1, max_size=2), "not": inner,
            },
        )  # fmt: skip

    return st.recursive(leaf, extend, max_leaves=6)


_values = st.recursive(
    st.sampled_from([1, 0.5, 1e-300, "aaaa", "é" * 3000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "éé"]), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(_schemas(), _schemas(), st.dictionaries(st.sampled_from("abc"), _values, max_size=3))
def test_the_walk_adds_up_every_look(root: dict[str, Any], definition: dict[str, Any], value: dict[str, Any]) -> None:
    root = {**root, "type": "object", "$defs": {"d": definition}}
    try:
        document = SchemaDocument(root, "t")
        meter = CostMeter(document)
    except ToolRegistrationError:
        return
    units = _sum_without_sharing(document, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aioc_opa.core.tool_schemas.json_schema_walk.MAX_CALL_UNITS", units - 1)
        patch.setattr("aioc_opa.core.tool_schemas.json_schema_cost.MAX_CALL_UNITS", units - 1)
        assert meter.exceeds(value)
        text = json.dumps(value, ensure_ascii=False)
        assert not meter.is_cheap(values=len(text) // 2 + 1, text=len(text) * 4)


def _hostile(chance: random.Random) -> tuple[dict[str, Any], Any]:
    """A schema that asks for much of a few kinds at once, and as large a value as fits."""
    size = chance.choice([3, 30, 300, 3000])
    ways = chance.choice([1, 5, 40])
    string = AB[: chance.choice([5, 500, 200_000])] if chance.random() < 0.5 else "é" * chance.choice([4, 400, 200_000])
    number = chance.choice([7, 0.1, 1e-300, 1e300, 5e-324, 2**53 - 1])
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"pattern": f"[ab]*a[ab]{{{size % 1999}}}c"}, string),
        ({"pattern": rf"(?:[^a]?|é){{{size % 499}}}\b$"}, string),
        ({"enum": [{"k": f"v{n}", "x": ["y"] * 9} for n in range(size)]}, {"k": f"v{size - 1}", "x": ["y"] * 9}),
        ({"enum": [chance.choice([n, n + 0.3, n * 1e-300 + 1e-300]) for n in range(size)]}, number),
        ({"minimum": -1e-300, "multipleOf": chance.choice([0.1, 1e-300, 3])}, number),
        ({"patternProperties": {f"x{n}": {} for n in range(size)}}, {f"x{'x' * (n % 9)}{n}": 1 for n in range(90)}),
        ({"uniqueItems": True, "contains": {"const": number}}, [[n * 1e-300] for n in range(90)]),
        ({"format": chance.choice(["idn-email", "idn-hostname", "uri", "regex", "email", "date"])}, string[:9000]),
        ({"propertyNames": {"pattern": f"[ab]*a[ab]{{{size % 1999}}}c"}}, {string: 1}),
        ({"required": [f"k{n}" for n in range(size)]}, {f"k{n}": 1 for n in range(min(size, 300))}),
        ({"oneOf": [{"const": str(n)} for n in range(min(size, 900))]}, "2"),
    ]
    keyword, value = chance.choice(kinds)
    schema = (
        {"not": {"not": {"allOf": [{"not": keyword}] * ways}}} if chance.random() < 0.5 else {"anyOf": [keyword] * ways}
    )
    room = 1_000_000 // (len(json.dumps(value, ensure_ascii=False).encode()) + 1)
    return schema, [value] * max(1, min(room, 90_000 // (1 + json.dumps(value).count(","))))


@pytest.mark.parametrize("seed", range(12))
def test_hostile_schemas_and_arguments_are_decided(seed: int) -> None:
    """Each of these kinds of work took minutes; that the suite goes on is the test."""
    schema, value = _hostile(random.Random(seed))  # noqa: S311 - test data
    text = json.dumps({"a": value}, ensure_ascii=False)
    try:
        registered = tool(properties={"a": {"items": schema}})
    except ToolRegistrationError:
        return
    with contextlib.suppress(SchemaRejectionError):
        assert registered.parse(text) == {"a": value}
