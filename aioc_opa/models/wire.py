"""The base of every wire model: frozen, closed, camelCase on the wire, snake_case in Python (design 3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class WireModel(BaseModel):
    """Frozen, refuses unknown fields, validates strictly, and writes camelCase."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)
