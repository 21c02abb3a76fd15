from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ForwardRef

import jsonschema
import pytest
from pydantic import BaseModel, Field, create_model

from aioc_opa.core.canonical_form import compile_form
from tests.core.canonical_form import test_classes, test_scalars
from tests.core.canonical_form.forms import in_model

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject


class Line(BaseModel):
    sku: str
    price: Decimal = Field(alias="thePrice")


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None
    parent: Order | None = None


def exported(annotation: Any) -> JsonObject:
    return compile_form(annotation, tool_name="tool").export()


def test_the_schema_has_python_names_and_the_forms_that_policies_see() -> None:
    assert exported(Line) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"sku": {"type": "string"}, "price": {"type": "string"}},
        "required": ["sku", "price"],
        "additionalProperties": False,
    }


def test_a_recursive_class_stands_in_defs() -> None:
    document = exported(Order)
    assert document["$ref"] == "#/$defs/Order"
    assert document["$defs"]["Order"]["properties"]["parent"] == {
        "anyOf": [{"$ref": "#/$defs/Order"}, {"type": "null"}]
    }


def parameters(test: Any) -> list[Any]:
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    return list(mark.args[1])


@pytest.mark.parametrize(
    ("annotation", "raw", "text"),
    parameters(test_scalars.test_a_scalar_is_written_as_the_design_says)
    + parameters(test_classes.test_containers)
    + [(test_classes.Tree, "", '{"children":[],"left":{"children":[],"left":null,"value":1},"value":2}')]
    + [(test_classes.Json, "", '{"a":[null,"b"]}'), (test_classes.Movie, "", '{"title":"t"}')]
    + [(test_classes.OpenInts, "", '{"a":1,"z":2}'), (test_classes.Holder, "", '{"words":{"a":["b"]}}')],
)
def test_every_canonical_value_is_valid_under_the_exported_schema(annotation: Any, raw: str, text: str) -> None:
    schema = exported(in_model(annotation))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate({"x": json.loads(text)})


def test_what_the_walk_refuses_the_schema_refuses() -> None:
    validator = jsonschema.Draft202012Validator(exported(in_model(Line)))
    for value in ({"x": {"sku": "a"}}, {"x": {"sku": "a", "price": 1}}, {"x": {"sku": "a", "price": "1", "z": 1}}, {}):
        assert not validator.is_valid(value)


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ('input.lines[_].price == "1"', True),
        ("input.parent.lines[_].sku == input.note", True),
        ("input.lines[_].thePrice == 1", False),
        ("input.lines[_].price > 1; input.no_such", False),
        ("input.lines[_].no_such == 1", False),
    ],
)
def test_opa_check_finds_a_rule_that_reads_no_argument(
    opa_binary: Path, tmp_path: Path, rule: str, *, holds: bool
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "order.json").write_text(json.dumps(exported(Order)))
    (tmp_path / "p.rego").write_text(
        f"# METADATA\n# schemas:\n#   - input: schema.order\npackage p\n\nallow if {{\n\t{rule}\n}}\n"
    )
    done = subprocess.run(
        [opa_binary, "check", "--strict", "--schema", str(tmp_path / "s"), str(tmp_path / "p.rego")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) is holds, done.stderr


def test_names_in_defs_do_not_meet() -> None:
    def made(name: str, field: str) -> Any:
        return create_model(name, **{field: (list[ForwardRef(name)], [])})  # type: ignore[call-overload]

    models = [made("Node_2", "a"), made("Node", "b"), made("Node", "c"), made("Node", "d")]
    exported: Any = compile_form(
        create_model("M", **{f"x{index}": (model, ...) for index, model in enumerate(models)}),  # type: ignore[call-overload]
        tool_name="tool",
    ).export()
    for index, field in enumerate("abcd"):
        name = exported["properties"][f"x{index}"]["$ref"].removeprefix("#/$defs/")
        assert list(exported["$defs"][name]["properties"]) == [field]
