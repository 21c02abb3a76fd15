"""The decision that a policy's entrypoint returns (design 3.3). Made from bytes by `core.decision_decoder` only."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel

CODE = r"\A[a-z][a-z0-9_]{0,63}\z"


class ApprovalRequirement(WireModel):
    """One hold that must be met: how many persons of which roles.

    Attributes:
        code: the verdict's code.
        approver_roles: any of these roles may vote.
        quorum: distinct persons, at least 1.
    """

    code: str = Field(pattern=CODE)
    approver_roles: tuple[str, ...] = Field(min_length=1, max_length=64, strict=False)
    quorum: int = Field(ge=1, le=100)


class ApprovalTerms(WireModel):
    """What an approval of this call takes. Every requirement must be met.

    Attributes:
        separation_of_duties: whether the requester may not approve.
        ttl_seconds: how long a grant may live, seconds.
    """

    requirements: tuple[ApprovalRequirement, ...] = Field(min_length=1, max_length=256, strict=False)
    separation_of_duties: bool
    ttl_seconds: int = Field(ge=1, le=31_536_000)


class PolicyDecision(WireModel):
    """Allow, deny or approval_required, bound to the question by three echoes."""

    decision: Literal["allow", "deny", "approval_required"]
    reason: str = Field(pattern=CODE)
    reasons: tuple[str, ...] = Field(max_length=1024, strict=False)
    proposal_hash: str = Field(pattern=HASH_PATTERN)
    request_id: str = Field(min_length=1, max_length=128)
    kind: Literal["tool", "handoff"]
    public_reason: str | None = Field(default=None, min_length=1, max_length=1024)
    policy_version: str | None = Field(default=None, min_length=1, max_length=256)
    result_mode: Literal["throw", "tool_result"] | None = None
    expires_at: str | None = None
    approval: ApprovalTerms | None = None
    metadata: dict[str, Any] | None = None
