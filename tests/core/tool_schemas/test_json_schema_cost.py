"""The bound on evaluations is one: no validation looks more often than it says, counted by the validator itself."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema_cost import CostMeter
from aioc_opa.core.tool_schemas.json_schema_document import SchemaDocument
from aioc_opa.errors import ToolRegistrationError

looks = 0


class Tick:
    """Counts how often the subschema that holds ``x-tick`` is evaluated."""

    def __init__(self, *_: object) -> None: ...

    def validate(self, _: object) -> None:
        global looks  # noqa: PLW0603 - the validator makes the instances
        looks += 1


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    tick = {"x-tick": st.just(True)}
    reference = st.sampled_from(["#", "#/$defs/d"])
    leaf = st.fixed_dictionaries(
        tick, optional={"type": st.sampled_from(["object", "array", "integer"]), "$ref": reference}
    )

    def extend(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        several = st.lists(inner, min_size=1, max_size=3)
        named = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        return st.fixed_dictionaries(
            tick,
            optional={
                "properties": named, "patternProperties": named, "additionalProperties": inner, "items": inner,
                "allOf": several, "anyOf": several, "oneOf": several, "not": inner, "if": inner, "then": inner,
                "else": inner, "contains": inner, "prefixItems": several, "dependentSchemas": named,
                "propertyNames": inner, "unevaluatedProperties": inner, "unevaluatedItems": inner, "$ref": reference,
            },
        )  # fmt: skip

    return st.recursive(leaf, extend, max_leaves=8)


_values = st.recursive(
    st.none() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)


@settings(max_examples=600, deadline=None)
@given(_schemas(), _schemas(), st.dictionaries(st.sampled_from("ab"), _values, max_size=2))
def test_no_validation_looks_more_often_than_the_bound(
    root: dict[str, Any], definition: dict[str, Any], value: dict[str, Any]
) -> None:
    global looks  # noqa: PLW0603 - as above
    root = {**root, "type": "object", "$defs": {"d": definition}}
    try:
        meter = CostMeter(SchemaDocument(root, "t"))
    except ToolRegistrationError:
        return
    validator = jsonschema_rs.Draft202012Validator(root, keywords={"x-tick": Tick}, offline=True)
    looks = 0
    validator.is_valid(value)
    # `exceeds(…, n)` says that the bound is over n.
    assert looks == 0 or meter.exceeds(value, looks - 1)
    if not meter.recursive:
        nodes = 1 + sum(map(_nodes, value.values()))
        assert looks <= meter.evaluations * nodes
        assert not meter.exceeds(value, meter.evaluations * nodes)


def _nodes(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_nodes, inner))
