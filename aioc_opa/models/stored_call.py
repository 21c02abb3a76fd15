"""The held call as an approval store keeps it: what a reviewer is shown and what `resume` runs again (design 3.5).

It holds argument values. A store may encrypt its text, and forgets it when retention says so.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.wire import WireModel


class StoredCall(WireModel):
    """Everything about a held call that is not in its bindings.

    Attributes:
        raw_arguments: the exact provider string; RFC 8785 text when a framework handed over an object.
        decode_assurance: ``raw`` or ``decoded``; `resume` takes the same way again.
        requested_arguments: what the model asked for; diagnostic.
        args_canonical_json: RFC 8785 text of the parsed arguments: the action that is approved.
        turn: turn of the run.
        tool_description: as registered, for reviewers.
        public_reason: why policy holds it, as the policy says it.
        policy_version: of the decision.
        metadata: of the decision; can hold argument values.
    """

    raw_arguments: str
    decode_assurance: Literal["raw", "decoded"]
    requested_arguments: dict[str, Any]
    args_canonical_json: str
    turn: int = Field(ge=0)
    tool_description: str
    public_reason: str | None = None
    policy_version: str | None = None
    metadata: dict[str, Any] | None = None
