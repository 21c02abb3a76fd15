"""Step 1's question and answer, and its approval's (seed "Extension boundary"; Trussium's fields and bounds).

Closed and bounded by construction: no field can hold an argument, a credential, a header, a provider's payload or an
object. Every field is a bounded string or a bounded number, and unknown fields are refused.

Two differences from Trussium, where these models come from: `tool_version` may be absent, since a tool here may have
none; and an approval's result echoes the request, so that a remembered or shifted answer is no approval.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from aioc_opa.models.decision import Code
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

MAX_DEADLINE_SECONDS = 300.0
MAX_RESOURCE_BUDGET = 16

Version = Annotated[str, Field(min_length=1, max_length=32)]
Fingerprint = Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
Instant = Annotated[str, Field(min_length=20, max_length=35)]


class ToolAuthorizationRequest(WireModel):
    """May this identity use this tool at all? Metadata only.

    Attributes:
        request_id: random, one a question; for correlation.
        execution_id: the run; ``sha256:`` and its digest when it is longer than 128 characters.
        identity: of the authenticated principal.
        tenant_id: from the identity's binding, never from a claim.
        tool_name: the registered name.
        tool_version: as registered.
        capability: which of the application's capabilities the call belongs to.
        provider: the model's provider.
        model: the model's name.
        deadline_seconds: seconds that are left for the decision.
        resource_budget: cost units that the call takes.
    """

    request_id: Name | None = None
    execution_id: Name | None = None
    identity: Name
    tenant_id: Name | None = None
    tool_name: Name
    tool_version: Version | None = None
    capability: Name | None = None
    provider: Name | None = None
    model: Name | None = None
    deadline_seconds: float = Field(gt=0, le=MAX_DEADLINE_SECONDS, allow_inf_nan=False)
    resource_budget: int = Field(default=1, ge=1, le=MAX_RESOURCE_BUDGET)


class ToolAuthorizationResult(WireModel):
    """What a policy adapter answers.

    Attributes:
        decision: what is to happen.
        reason_code: stable code, ``[a-z][a-z0-9_]{0,63}``; none of the runtime's reserved reasons.
    """

    decision: Literal["allow", "deny", "approval_required"]
    reason_code: Code


class ToolApprovalRequest(WireModel):
    """May this identity use this tool, this once? A person is asked, without seeing arguments.

    Attributes:
        request_id: names the request; random.
        parent_execution_id: the run, as `ToolAuthorizationRequest.execution_id`.
        tool_name: the registered name.
        tool_version: as registered.
        identity: of the authenticated principal.
        created_at: RFC 3339, UTC.
        expires_at: RFC 3339, UTC; 10 seconds after `created_at` at the latest.
        reason_code: why policy asks.
        fingerprint: SHA-256, see `aioc_opa.access.fingerprint`. It is not the hash of a proposal, and counts for none.
    """

    request_id: Name
    parent_execution_id: Name
    tool_name: Name
    tool_version: Version | None = None
    identity: Name
    created_at: Instant
    expires_at: Instant
    reason_code: Code
    fingerprint: Fingerprint


class ToolApprovalResult(WireModel):
    """How the request ended.

    Attributes:
        decision: what the person said, or that nobody did in time.
        reason_code: stable code.
        request_id: echo of the request's.
        fingerprint: echo of the request's.
        decided_by: who decided, for the audit.
    """

    decision: Literal["approved", "denied", "expired"]
    reason_code: Code
    request_id: Name
    fingerprint: Fingerprint
    decided_by: Name | None = None

    @classmethod
    def answering(
        cls,
        request: ToolApprovalRequest,
        decision: Literal["approved", "denied", "expired"],
        *,
        reason_code: str,
        decided_by: str | None = None,
    ) -> Self:
        """The result for `request`, with its echoes.

        Raises:
            pydantic.ValidationError: a value is out of bounds.
        """
        return cls(
            decision=decision,
            reason_code=reason_code,
            request_id=request.request_id,
            fingerprint=request.fingerprint,
            decided_by=decided_by,
        )
