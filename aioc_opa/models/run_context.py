"""The run a call belongs to. `context` belongs to the application, never to the model."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from aioc_opa.models.wire import WireModel


class RunContext(WireModel):
    """The run and what the application knows about it (design 3.1).

    Attributes:
        run_id: the run's id, 1 to 256 characters.
        context: a JSON object made by the application.
    """

    run_id: str | None = Field(default=None, min_length=1, max_length=256)
    context: dict[str, Any] = Field(default_factory=dict, json_schema_extra={"default": {}})
