"""What `call` returns for a refusal in delivery mode ``tool_result`` (design 3.4)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.wire import WireModel


class RefusalResult(WireModel):
    """A refusal as a value that may be shown to a model. Never OPA's text, never argument values.

    Attributes:
        code: stable reason.
        public_reason: the policy's sentence, or a fixed one.
        data: for a held call its ids, so that an application can resume it.
    """

    status: Literal["denied", "approval_required"]
    code: str
    public_reason: str
    data: dict[str, Any] = Field(default_factory=dict, json_schema_extra={"default": {}})
