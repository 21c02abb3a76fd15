"""The three outcomes of `authorize` (design 3.4), for tools and for handoffs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.models.decision import PolicyDecision
    from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal
    from aioc_opa.permit import Permit

Stage = Literal["access", "policy", "permit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, as far as it got. Holds argument values: for the application, never for a log.

    Attributes:
        args_canonical_json: RFC 8785 text of what was judged (tool) or handed over (handoff).
        proposal_hash: its fingerprint.
        request_id: random, one a question.
    """

    args_canonical_json: str = field(repr=False)
    proposal_hash: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What every outcome carries.

    Attributes:
        code: stable reason that a caller may see.
        public_reason: sentence that a model or a user may see.
        reasons: codes of every deny and approval verdict; empty for denials of the runtime.
        stage: where it was decided.
        question: what was asked; None when nothing was.
        decision: the policy's decision; None when the runtime decided.
        policy_revision: RFC 8785 text of ``{bundle: revision}``, when the engine names one.
        engine: name and version of the engine that answered.
        decision_id: the engine's own id of the evaluation, when it names one: OPA's, as in its decision log.
        duration_ms: milliseconds that the decision took.
    """

    code: str
    public_reason: str
    reasons: tuple[str, ...] = ()
    stage: Stage = "policy"
    question: Question | None = None
    decision: PolicyDecision | None = field(default=None, repr=False)  # its metadata can hold argument values
    policy_revision: str | None = None
    engine: str = ""
    decision_id: str | None = None
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed(Outcome):
    """The call may run: `guard.execute(outcome.permit)` runs it, once."""

    permit: Permit = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied(Outcome):
    """The call must not run.

    Attributes:
        audit_code: what operators may see; differs from `code` where callers must not learn it
            (``tool_not_registered`` looks like ``tool_not_authorized``).
    """

    audit_code: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended(Outcome):
    """A person must approve first.

    Attributes:
        proposal: what is to be approved.
        approval_id: the stored request, for `resume`; None when the guard has no approvals.
    """

    proposal: SuspendedToolProposal = field(repr=False)
    approval_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffAllowed(Outcome):
    """The handoff may happen; the application carries it out with exactly this payload.

    Attributes:
        payload: the object that was judged.
    """

    payload: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffDenied(Outcome):
    """The handoff must not happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffSuspended(Outcome):
    """A person must approve the handoff first."""

    proposal: SuspendedHandoffProposal = field(repr=False)
