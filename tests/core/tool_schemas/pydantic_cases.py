"""Schemas of annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.core.tool_schemas.pydantic_schema import PydanticSchema

if TYPE_CHECKING:
    from aioc_opa.core.tool_schemas.protocol import ToolSchema


def schema_of(annotation: Any) -> ToolSchema:
    return PydanticSchema(annotation, tool_name="tool")
