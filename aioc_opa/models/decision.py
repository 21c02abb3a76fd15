"""The decision that a policy's entrypoint returns (design 3.3). Made from bytes by `core.decision_decoder` only."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from aioc_opa.models.wire import WireModel

CODE = r"\A[a-z][a-z0-9_]{0,63}\z"
Code = Annotated[str, Field(pattern=CODE)]
Role = Annotated[str, Field(min_length=1, max_length=128)]
Sentence = Annotated[str, Field(min_length=1, max_length=1024)]


class ApprovalRequirement(WireModel):
    """One hold that must be met: how many persons of which roles.

    Attributes:
        code: the verdict's code.
        approver_roles: any of these roles may vote.
        quorum: distinct persons, at least 1.
    """

    code: str = Field(pattern=CODE)
    approver_roles: tuple[Role, ...] = Field(min_length=1, max_length=64, strict=False)
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
    """Allow, deny or approval_required, bound to the question by three echoes.

    Attributes:
        reason: first code of the winning effect; ``allowed``; or ``no_rule_allows``.
        reasons: codes of every deny and approval verdict that holds, sorted.
        proposal_hash: echo of the question's.
        request_id: echo of the question's.
        kind: echo of the question's, ``tool`` or ``handoff``.
        public_reason: sentence that a model or a user may see.
        result_mode: overrides the guard's delivery of a refusal.
        expires_at: RFC 3339; a permit never outlives it.
        approval: with ``approval_required``, and only then.
    """

    decision: Literal["allow", "deny", "approval_required"]
    reason: str = Field(pattern=CODE)
    reasons: tuple[Code, ...] = Field(max_length=1024, strict=False)
    # The echoes are any string here: a wrong one is a mismatch, not a malformed decision (design 3.3).
    proposal_hash: str = Field(max_length=256)
    request_id: str = Field(max_length=256)
    kind: str = Field(max_length=256)
    public_reason: Sentence | None = None
    policy_version: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    result_mode: Literal["throw", "tool_result"] | None = None
    expires_at: Annotated[str, Field(max_length=64)] | None = None
    approval: ApprovalTerms | None = None
    metadata: dict[str, Any] | None = None
