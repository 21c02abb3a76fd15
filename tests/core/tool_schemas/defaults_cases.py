"""Arguments parsed by a schema with defaults."""

from __future__ import annotations

import json
from typing import Any

from tests.core.tool_schemas.json_schema_cases import tool

ONE = {"default": 1}


def parsed(schema: dict[str, Any], arguments: Any) -> Any:
    return tool(**schema).parse(json.dumps(arguments))
