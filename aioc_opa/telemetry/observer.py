"""What a guard tells whoever watches it: that a decision begins, and how it ended. Names, codes and times.

An observer sees no arguments, outputs, credentials or exception texts: there is no field for them. What a model or a
caller made up (a tool that is not registered, an id that is too long) comes as its digest, and a reason code that no
pack declares as ``undeclared`` (`core.audit.labels`), so that labels stay bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

Kind = Literal["tool", "handoff"]
Verdict = Literal["allow", "deny", "approval_required", "invalid_arguments", "interrupted"]
"""`invalid_arguments`: refused before policy. `interrupted`: cancelled, or an exception that is none of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """What is being decided.

    Attributes:
        kind: a call of a tool, or a handoff to another agent.
        target: a registered tool's name, else the digest of the name that was called; an agent for a handoff. None
            for a call that was turned away before anything was known of it.
        registered: whether `target` is a registered tool: only then is it fit for a label.
        tool_version: of the registered tool, where it has one.
        agent_name: who calls.
        call_id: the provider's id of the call.
        run_id: of the agent's run.
        request_id: 32 hexadecimal digits, one a question; also in OPA's decision log and in the audit trail.
    """

    kind: Kind
    target: str | None = None
    registered: bool = False
    tool_version: str | None = None
    agent_name: str | None = None
    call_id: str | None = None
    run_id: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDecision:
    """How it ended.

    Attributes:
        verdict: the answer.
        reason: the code that operators may see.
        reasons: codes of every deny and approval verdict of policy.
        failed: whether policy could not be asked, its answer did not count, or a store or the audit trail was away:
            something is broken, and nobody said no.
        policy_revision: RFC 8785 text of ``{bundle: revision}``, where the engine names one.
        engine: name and version of the engine that answered.
        decision_id: OPA's own id of the evaluation, as in its decision log.
        approval_id: the stored request of a held call.
        proposal_hash: of the arguments. They can be guessed from it: show `core.audit.proposal_ref` instead.
        tenant: the caller's; chooses the key of that reference, and is not meant to be shown.
        duration_seconds: of the whole decision.
    """

    verdict: Verdict
    reason: str
    reasons: tuple[str, ...] = ()
    failed: bool = False
    policy_revision: str | None = None
    engine: str | None = None
    decision_id: str | None = None
    approval_id: str | None = None
    proposal_hash: str | None = field(default=None, repr=False)
    tenant: str | None = field(default=None, repr=False)
    duration_seconds: float = 0.0


class Observation(Protocol):
    """One decision that is being watched."""

    def ended(self, decision: ObservedDecision) -> None:
        """The decision is made. In the same thread, or the same task, as `DecisionObserver.began`."""
        ...


@runtime_checkable
class DecisionObserver(Protocol):
    """Watches decisions, from any thread. It must not block; what it raises is logged once and changes nothing."""

    def began(self, call: ObservedCall) -> Observation:
        """A decision begins; policy is asked before `Observation.ended`."""
        ...
