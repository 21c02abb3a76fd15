"""What the sync and the async guard share: everything but waiting for the engine and running the handler.

A call that has arrived (`arrival`, step 1) goes through two functions around one question to the engine:

`begin`     steps 2 to 4 of design 2. Gives an `Attempt` with the question's bytes, or a `Denied`, or raises
            `ToolArgumentsValidationError`. Policy has not been asked.
`conclude`  steps 5 to 7: canonicalize again, judge the answer, issue the permit or make the proposal.

From the fingerprint on nothing raises: every exception is a deny with a reserved reason.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.arrival import arrive
from aioc_opa.call_request import SurroundingsError, problem_of
from aioc_opa.core.decision_decoder import expiry
from aioc_opa.core.engine_answer import EngineAnswer
from aioc_opa.core.policy_question import principal_text, run_context_text, tool_question
from aioc_opa.core.preparation import prepare_call, tool_hash
from aioc_opa.core.public_reasons import APPROVAL_REQUIRED, DENIED
from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied
from aioc_opa.errors import ConfigurationError
from aioc_opa.execution_core import ExecutionCore, unchanged
from aioc_opa.judgement import RefusalError, judge
from aioc_opa.models.outcome import Allowed, Denied, Question, Suspended
from aioc_opa.permit import MAX_PERMIT_SECONDS, PermittedCall
from aioc_opa.suspension import suspended_tool_proposal
from aioc_opa.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.arrival import Arrival
    from aioc_opa.call_request import CallRequest, Surroundings
    from aioc_opa.core.preparation import PreparedCall
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.guard_resume import ResumedCall
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.decision import PolicyDecision
    from aioc_opa.models.principal import Principal
    from aioc_opa.tool_registry import RegisteredTool

logger: Final = logging.getLogger("aioc_opa.guard")


@dataclass(slots=True, kw_only=True)
class Attempt:
    """A call that is ready to be judged: `body` is what the engine is asked."""

    tool: RegisteredTool
    prepared: PreparedCall
    surroundings: Surroundings
    question: Question
    body: bytes
    deadline: Deadline
    started: float
    arrival: Arrival | None = None
    resumed: ResumedCall | None = None


def store_tenant(bound: Principal | None) -> str:
    """The tenant of a caller as the access gate has bound it, as stores write it."""
    return NO_TENANT if bound is None or bound.tenant is None else bound.tenant


class GuardCore(ExecutionCore):
    """The pipeline of one guard. Thread-safe and task-safe: the state of a call is in its `Attempt`."""

    def __init__(self, settings: GuardSettings) -> None:
        super().__init__(settings)
        self.registry = ToolRegistry()

    def broker(self) -> ApprovalBroker:
        """The guard's approvals.

        Raises:
            ConfigurationError: it has none.
        """
        if self.settings.approvals is None:
            raise ConfigurationError("this guard has no approvals: give it approvals=ApprovalBroker(…)")
        return self.settings.approvals

    def bound(self, principal: Principal | None) -> Principal | None:
        """The caller as the access gate knows it, where there is one; its word on the tenant counts."""
        gate = self.settings.access
        return principal if gate is None else gate.bound(principal)

    def tenant_of(self, principal: Principal | None) -> str:
        """The tenant whose approvals are this caller's, as stores write it."""
        return store_tenant(self.bound(principal))

    def arrive(self, request: CallRequest, deadline: Deadline) -> Arrival | Denied:
        """Step 1, before the access gate is asked."""
        return arrive(request, self.registry, deadline, gated=self.settings.access is not None)

    def turned_away(self, request: CallRequest, refusal: Denied) -> AuditEvent | None:
        """The audit's event of a call that ended before the access gate."""
        registered = self.registry.find(request.target) is not None
        return None if self.audit is None else self.audit.turned_away(request, refusal, registered=registered)

    def begin(self, arrival: Arrival, resumed: ResumedCall | None = None) -> Attempt | Denied:
        """Decode, parse, fingerprint and write the question.

        Args:
            arrival: of a registered tool.
            resumed: the approval that the call is resumed from.

        Raises:
            ToolArgumentsValidationError: the arguments are refused before policy.
        """
        tool = arrival.tool
        if tool is None:
            return denied(Reason.TOOL_NOT_AUTHORIZED, arrival.started, stage="access")
        around = arrival.surroundings
        if tool.once and not (around.run_id_given and around.call_id_given):
            # Only here, after step 1: before it, a tool that is marked once would differ from one that is not there.
            logger.warning("denied %s: marked once, it needs call_id and run_context.run_id", tool.name)
            return denied(Reason.POLICY_INPUT_INVALID, arrival.started)
        prepared = self.prepare(tool, arrival.request.raw_arguments)
        try:
            return self._attempt(arrival, tool, prepared, resumed)
        except RefusalError as refusal:
            logger.warning("denied %s: %s: %s", tool.name, refusal.reason, refusal.detail)
            return denied(refusal.reason, arrival.started)
        except Exception as error:  # noqa: BLE001 - names, context or principal without a canonical form, of whatever kind
            logger.warning("denied %s: %s: %s", tool.name, Reason.POLICY_INPUT_INVALID, problem_of(error))
            return denied(Reason.POLICY_INPUT_INVALID, arrival.started)

    def prepare(self, tool: RegisteredTool, raw_arguments: object) -> PreparedCall:
        """Steps 2 to 4 for one tool.

        Raises:
            ToolArgumentsValidationError: stage ``json`` or ``schema``.
        """
        return prepare_call(
            tool.schema,
            raw_arguments,
            tool_name=tool.name,
            limits=self.settings.json_limits,
            empty_arguments=self.settings.empty_arguments,
        )

    def _attempt(
        self, arrival: Arrival, tool: RegisteredTool, prepared: PreparedCall, resumed: ResumedCall | None
    ) -> Attempt:
        around = arrival.surroundings
        proposal_hash = tool_hash(around.agent_name, tool.name, prepared)
        if resumed is not None and proposal_hash != resumed.proposal_hash:
            raise RefusalError(Reason.APPROVAL_BINDING_MISMATCH, "the parsed arguments are not those that were held")
        body = tool_question(
            request_id=around.request_id,
            agent_name=around.agent_name,
            tool_name=tool.name,
            tool_version=tool.version,
            call_id=around.call_id,
            raw_arguments=prepared.raw_arguments,
            requested_json=prepared.requested_json,
            args_canonical_json=prepared.args_canonical_json,
            proposal_hash=proposal_hash,
            run_context=run_context_text(around.run_context, around.run_id),
            turn=around.turn,
            principal=None if around.principal is None else principal_text(around.principal),
            decode_assurance=prepared.decode_assurance,
            approval=None if resumed is None else resumed.evidence_text,
        )
        if len(body) > self.settings.max_body_bytes:
            raise SurroundingsError(f"the question has {len(body)} bytes, over max_body_bytes")
        question = Question(
            args_canonical_json=prepared.args_canonical_json,
            proposal_hash=proposal_hash,
            request_id=around.request_id,
        )
        return Attempt(
            tool=tool,
            prepared=prepared,
            surroundings=around,
            question=question,
            body=body,
            deadline=arrival.deadline,
            started=arrival.started,
            arrival=arrival,
            resumed=resumed,
        )

    def conclude(self, attempt: Attempt, answer: EngineAnswer | BaseException) -> Allowed | Denied | Suspended:
        """Judge what the engine answered or raised. Never raises."""
        facts: dict[str, Any] = {"question": attempt.question}
        if type(answer) is EngineAnswer:
            facts |= {
                "policy_revision": answer.policy_revision,
                "engine": answer.engine,
                "decision_id": answer.decision_id,
            }
        try:
            # RFC-0015 "Mutation Detection": canonicalize again when policy returns, whatever it returned.
            if not unchanged(attempt.tool, attempt.prepared.parsed, attempt.prepared.args_canonical_json):
                raise RefusalError(Reason.POLICY_MUTATED_ARGUMENTS, "the arguments changed while they were judged")
            decision = judge(
                answer, question=attempt.question, kind="tool", deadline=attempt.deadline, gate=self.settings.gate
            )
            if attempt.resumed is not None:
                attempt.resumed.require_same_policy(decision, facts["policy_revision"])
            return self._outcome(attempt, decision, facts)
        except RefusalError as refusal:
            logger.warning("denied %s: %s", attempt.tool.name, refusal.reason)
            # An engine's error text can hold argument values: for operators who ask for it.
            logger.debug("detail of %s: %s", attempt.question.request_id, refusal.detail)
            return denied(refusal.reason, attempt.started, **facts)
        except Exception as error:  # noqa: BLE001 - the last line: whatever goes wrong here is a deny
            logger.error("denied %s: internal error (%s)", attempt.tool.name, type(error).__name__)  # noqa: TRY400 - a traceback can hold argument values
            return denied(Reason.POLICY_UNAVAILABLE, attempt.started, **facts)

    def _outcome(
        self, attempt: Attempt, decision: PolicyDecision, facts: dict[str, Any]
    ) -> Allowed | Denied | Suspended:
        facts |= {
            "code": decision.reason,
            "reasons": decision.reasons,
            "decision": decision,
            "duration_ms": (time.perf_counter() - attempt.started) * 1000.0,
        }
        if decision.decision == "deny":
            return Denied(audit_code=decision.reason, public_reason=decision.public_reason or DENIED, **facts)
        if decision.decision == "approval_required":
            proposal = suspended_tool_proposal(
                tool=attempt.tool,
                prepared=attempt.prepared,
                surroundings=attempt.surroundings,
                question=attempt.question,
                decision=decision,
                policy_revision=facts.get("policy_revision"),
            )
            return Suspended(public_reason=decision.public_reason or APPROVAL_REQUIRED, proposal=proposal, **facts)
        permit = self.permits.issue(_permitted(attempt, decision))
        return Allowed(public_reason=decision.public_reason or "", permit=permit, **facts)


def _permitted(attempt: Attempt, decision: PolicyDecision) -> PermittedCall:
    # Design 3.5: 30 s at most, by a monotonic clock, never past expiresAt.
    seconds = MAX_PERMIT_SECONDS
    expires = expiry(decision)
    if expires is not None:
        seconds = min(seconds, (expires - datetime.now(UTC)).total_seconds())
    return PermittedCall(
        tool=attempt.tool,
        parsed=attempt.prepared.parsed,
        args_canonical_json=attempt.prepared.args_canonical_json,
        question=attempt.question,
        surroundings=attempt.surroundings,
        expires_at=time.monotonic() + seconds,
        process=os.getpid(),
        approval_id=None if attempt.resumed is None else attempt.resumed.approval_id,
        reservation=None if attempt.arrival is None else attempt.arrival.reservation,
    )
