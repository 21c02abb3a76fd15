"""JSON Schema tools, and what they say of arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.protocol import SchemaRejectionError
from aioc_opa.errors import ArgumentIssue, ToolRegistrationError

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


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"bad": 1}
    for _ in range(depth):
        value = {"x": value}
    return value
