"""One event a decision: what an audit log says of it (issue of evidence; design 3.3, 3.5).

There is no field for arguments, outputs, credentials, texts of exceptions or what a provider sent. Names that somebody
outside controls go through `aioc_opa.core.audit.labels` first.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aioc_opa.models.approval_vote_statement import ApprovalId
from aioc_opa.models.decision import Code
from aioc_opa.models.principal import Name
from aioc_opa.models.tool_authorization import Version
from aioc_opa.models.wire import WireModel

AuditKind = Literal[
    "access",
    "tool_policy",
    "handoff_policy",
    "approval_intended",
    "approval_vote",
    "approval_ended",
    "effect_settled",
    "arguments_removed",
    "permit_refused",
    "execution_started",
    "execution_completed",
    "execution_failed",
]
"""What happened. An intent is ``execution_started``: its effect may have begun, whatever else the log says; and
``approval_intended``: a person was about to do something, and whether it was done is said by the events that follow."""

AuditDecision = Literal[
    "allow",
    "deny",
    "approval_required",
    "approved",
    "denied",
    "rejected",
    "expired",
    "cancelled",
    "dismissed",
    "revoked",
    "consumed",
    "completed",
    "outcome_unknown",
]

Label = Annotated[str, Field(min_length=1, max_length=256)]
Digest = Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
Instant = Annotated[str, Field(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\z")]

MAX_REASONS = 1024
MAX_VOTERS = 256


class AuditEvent(WireModel):
    """One event.

    Attributes:
        kind: what happened.
        at: when, RFC 3339 in UTC with milliseconds, by the clock of the process that says so.
        request_id: of the question; the same in the event of step 1 and in OPA's log.
        run_id: of the run.
        call_id: of the call.
        turn: of the run.
        agent_name: the agent that proposed.
        to_agent_name: whom a handoff is to.
        tool_name: the registered name; ``sha256:`` and a digest when no such tool is registered.
        tool_version: as registered.
        identity: of the principal; absent when there was no usable one.
        tenant: of the principal.
        decision: absent on executions.
        reason: primary code; ``undeclared`` for one that no pack declares.
        reasons: every code, likewise.
        detail: what exactly decided at step 1, or refused a permit; how a settled effect ended; what is intended.
        policy_revision: RFC 8785 text of ``{bundle: revision}``.
        bundle_digest: digest of the policy in force, as its engine or its gate names it.
        decision_id: OPA's, as in its decision log.
        engine: name and version of the engine that answered.
        duration_ms: milliseconds that the decision or the execution took.
        approval_id: the approval that was voted on, ended or used.
        voters: person ids of those whose votes counted, or of the one who votes.
        by: person id of who did it, where that is no vote: revoked, dismissed, settled, removed, or is about to.
        proposal_ref: keyed digest of the proposal's hash (`aioc_opa.core.audit.proposal_ref`); never the hash itself.
        execution_id: of one execution: joins its start and its end.
        arguments_digest: digest of what was kept of the arguments elsewhere (`aioc_opa.audit.arguments`).
    """

    kind: AuditKind
    at: Instant
    request_id: Name | None = None
    run_id: Label | None = None
    call_id: Label | None = None
    turn: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None
    agent_name: Label | None = None
    to_agent_name: Label | None = None
    tool_name: Name | None = None
    tool_version: Version | None = None
    identity: Name | None = None
    tenant: Name | None = None
    decision: AuditDecision | None = None
    reason: Code | None = None
    reasons: tuple[Code, ...] = Field(default=(), max_length=MAX_REASONS, strict=False)
    detail: Code | None = None
    policy_revision: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    bundle_digest: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    decision_id: Name | None = None
    engine: Annotated[str, Field(max_length=128)] | None = None
    duration_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    approval_id: ApprovalId | None = None
    voters: tuple[Name, ...] = Field(default=(), max_length=MAX_VOTERS, strict=False)
    by: Name | None = None
    proposal_ref: Digest | None = None
    execution_id: Name | None = None
    arguments_digest: Digest | None = None
