"""What an application starts its own approval request from, in the shape of the TypeScript runtime's helper."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel


class ApprovalRequestSeed(WireModel):
    """The least that identifies a held proposal to people. No storage schema, and no request of an approval store.

    Attributes:
        proposal_hash: of the proposal.
        kind: ``tool`` or ``handoff``.
        reason: primary code of the decision.
        public_reason: what the policy says to people.
        policy_version: of the decision.
        expires_at: of the decision, RFC 3339; it informs.
        resource_name: the tool, or the agent that is handed over to.
        canonical_payload_json: RFC 8785 text of the parsed arguments or the payload: it holds argument values.
    """

    proposal_hash: str = Field(pattern=HASH_PATTERN)
    kind: Literal["tool", "handoff"]
    reason: str
    public_reason: str | None = None
    policy_version: str | None = None
    expires_at: str | None = None
    resource_name: str = Field(min_length=1, max_length=256)
    canonical_payload_json: str = Field(repr=False)
