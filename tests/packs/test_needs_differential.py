"""The generated checks say what JSON Schema says, on a real OPA and on regorus, for random schemas and values."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from aioc_opa.packs.needs_schema import check_needs_schema
from aioc_opa.packs.routes_data import data_statements, namespaces
from aioc_opa.packs.routes_needs import NeedsWriter
from tests.packs.evaluation import on_opa, on_regorus
from tests.packs.folders import write

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["a", "b c", "if", "input", "0"]
SCALARS: list[Any] = [None, True, False, 0, 1, 1.0, 1.5, -3, "", "x", "on time"]
SCHEMAS, VALUES, TABLES = 100, 20, 400
MODULE = "package probe\n\nimport data.aioc.lib.routing\nimport future.keywords.not\n\n"
LIBRARY = "package aioc.lib.routing\n\nis_integer(value) if {\n\tis_number(value)\n\tround(value) == value\n}\n"


def random_schema(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([{}, {"enum": rng.sample(["x", "on time", 1, 0, None, True, False], 3)}])
    types = rng.sample(["array", "boolean", "integer", "null", "number", "object", "string"], rng.choice([1, 1, 2, 3]))
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 and rng.random() < 0.7 else types}
    if "object" in types:
        keys = rng.sample(KEYS, rng.randint(0, 3))
        schema["properties"] = {key: random_schema(rng, depth - 1) for key in keys}
        schema["required"] = [key for key in keys if rng.random() < 0.5]
        if rng.random() < 0.4:
            schema["additionalProperties"] = rng.choice([False, True, random_schema(rng, depth - 1)])
    if "array" in types and rng.random() < 0.7:
        schema["items"] = random_schema(rng, depth - 1)
    if rng.random() < 0.1:
        schema["enum"] = rng.sample(["x", 1, None, False], 2)
    return schema


def random_value(rng: random.Random, depth: int = 3) -> Any:
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(SCALARS)
    if kind < 0.45:
        return [random_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {key: random_value(rng, depth - 1) for key in rng.sample([*KEYS, "z"], rng.randint(0, 4))}


def fitting_value(rng: random.Random, schema: dict[str, Any]) -> Any:
    """A value made along the schema, so that deep places are reached and not refused at the root."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    types = schema.get("type", rng.choice(["string", "object"]))
    kind = types if isinstance(types, str) else rng.choice(types)
    if rng.random() < 0.07:
        return random_value(rng)
    if kind == "object":
        properties = schema.get("properties", {})
        keys = [key for key in properties if key in schema.get("required", []) or rng.random() < 0.6]
        value = {key: fitting_value(rng, properties[key]) for key in keys if rng.random() < 0.95}
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and rng.random() < 0.7:
            value["z"] = fitting_value(rng, extra)
        return value
    if kind == "array":
        return [fitting_value(rng, schema.get("items", {})) for _ in range(rng.randint(0, 2))]
    members = {
        "boolean": [True, False],
        "integer": [0, 1, 2.0],
        "null": [None],
        "number": [1, 1.5],
        "string": ["x", ""],
    }
    return rng.choice(members[kind])


def test_checks_agree_with_json_schema_on_both_engines(tmp_path: Path, opa_binary: Path) -> None:
    rng = random.Random(20261130)  # noqa: S311 - reproducible on purpose
    writer = NeedsWriter()
    schemas = [random_schema(rng) for _ in range(SCHEMAS)]
    rules = [
        f'fits contains "{number}" if {writer.check(check_needs_schema(schema), "input.value", "")}\n'
        for number, schema in enumerate(schemas)
    ]
    write(
        tmp_path,
        {
            "probe/probe.rego": MODULE + "\n".join([*rules, *writer.functions()]),
            "aioc/lib/routing/routing.rego": LIBRARY,
        },
    )
    values = [random_value(rng) for _ in range(VALUES)]
    values += [fitting_value(rng, rng.choice(schemas)) for _ in range(VALUES * 15)]
    questions = [{"value": value} for value in values]
    expected = [
        sorted(str(n) for n, schema in enumerate(schemas) if Draft202012Validator(schema).is_valid(value))
        for value in values
    ]
    assert sum(map(len, expected)) > len(values)
    for answers in (
        on_opa(opa_binary, tmp_path, questions, "data.probe.fits"),
        on_regorus(tmp_path, questions, "data.probe.fits"),
    ):
        assert [sorted(answer) for answer in answers] == expected


def test_checks_of_data_agree_with_json_schema_on_both_engines(tmp_path: Path, opa_binary: Path) -> None:
    rng = random.Random(20261201)  # noqa: S311 - reproducible on purpose
    writer = NeedsWriter()
    above = namespaces([("probe",), ("aioc", "lib", "routing")])
    rules, data, expected = [], {}, []
    for number in range(TABLES):
        key = f"t{number}"
        schema = {"type": "object", "properties": {key: random_schema(rng)}, "required": [key][: rng.randint(0, 1)]}
        if rng.random() < 0.9:
            data[key] = fitting_value(rng, schema["properties"][key])
        statements = list(data_statements(check_needs_schema(schema), above, writer)) or ["true"]
        rules.append(f'fits contains "{key}" if {{\n' + "".join(f"\t{line}\n" for line in statements) + "}\n")
        if Draft202012Validator(schema).is_valid(data):
            expected.append(key)
    write(
        tmp_path,
        {
            "probe/probe.rego": MODULE + "\n".join([*rules, *writer.functions()]),
            "aioc/lib/routing/routing.rego": LIBRARY,
            "data.json": data,
        },
    )
    assert 0.3 < len(expected) / TABLES < 0.95
    for answers in (
        on_opa(opa_binary, tmp_path, [{}], "data.probe.fits"),
        on_regorus(tmp_path, [{}], "data.probe.fits"),
    ):
        assert sorted(answers[0]) == sorted(expected)
