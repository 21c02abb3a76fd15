"""Handoffs between agents: strict decoding, their own fingerprint and policy path, no schema (RFC-0015; design 3.1)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.call_request import SurroundingsError, checked_name, problem_of
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import EngineAnswer
from aioc_opa.core.policy_question import handoff_question, principal_text, run_context_text
from aioc_opa.core.preparation import handoff_hash, prepare_handoff
from aioc_opa.core.public_reasons import APPROVAL_REQUIRED, DENIED, public_reason
from aioc_opa.core.reasons import Reason
from aioc_opa.judgement import RefusalError, judge
from aioc_opa.models.outcome import HandoffAllowed, HandoffDenied, HandoffSuspended, Question
from aioc_opa.suspension import suspended_handoff_proposal

if TYPE_CHECKING:
    from aioc_opa.call_request import CallRequest, Surroundings
    from aioc_opa.core.preparation import PreparedHandoff
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.models.decision import PolicyDecision

logger: Final = logging.getLogger("aioc_opa.guard")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffAttempt:
    """A handoff that is ready to be judged."""

    to_agent_name: str
    prepared: PreparedHandoff
    surroundings: Surroundings
    question: Question
    body: bytes
    deadline: Deadline
    started: float


def begin_handoff(request: CallRequest, deadline: Deadline, settings: GuardSettings) -> HandoffAttempt | HandoffDenied:
    """Decode, fingerprint and write the question.

    Raises:
        ToolArgumentsValidationError: the payload is no strict JSON object.
    """
    started = time.perf_counter()
    prepared = prepare_handoff(request.raw_arguments, to_agent_name=str(request.target), limits=settings.json_limits)
    try:
        around = request.surroundings()
        to_agent_name = checked_name("to_agent_name", request.target)
        proposal_hash = handoff_hash(around.agent_name, to_agent_name, prepared)
        body = handoff_question(
            request_id=around.request_id,
            from_agent_name=around.agent_name,
            to_agent_name=to_agent_name,
            payload_canonical_json=prepared.payload_canonical_json,
            proposal_hash=proposal_hash,
            run_context=run_context_text(around.run_context, around.run_id),
            turn=around.turn,
            principal=None if around.principal is None else principal_text(around.principal),
        )
        if len(body) > settings.max_body_bytes:
            raise SurroundingsError(f"the question has {len(body)} bytes, over max_body_bytes")
    except Exception as error:  # noqa: BLE001 - names, context or principal without a canonical form, of whatever kind
        logger.warning("denied handoff: %s: %s", Reason.POLICY_INPUT_INVALID, problem_of(error))
        return _denied(Reason.POLICY_INPUT_INVALID, started)
    question = Question(
        args_canonical_json=prepared.payload_canonical_json,
        proposal_hash=proposal_hash,
        request_id=around.request_id,
    )
    return HandoffAttempt(
        to_agent_name=to_agent_name,
        prepared=prepared,
        surroundings=around,
        question=question,
        body=body,
        deadline=deadline,
        started=started,
    )


def conclude_handoff(
    attempt: HandoffAttempt, answer: EngineAnswer | BaseException, settings: GuardSettings
) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
    """Judge what the engine answered or raised. Never raises."""
    facts: dict[str, Any] = {"question": attempt.question}
    if type(answer) is EngineAnswer:
        facts |= {
            "policy_revision": answer.policy_revision,
            "engine": answer.engine,
            "decision_id": answer.decision_id,
        }
    try:
        if canonical_text(attempt.prepared.payload) != attempt.prepared.payload_canonical_json:
            raise RefusalError(Reason.POLICY_MUTATED_ARGUMENTS, "the payload changed while it was judged")
        decision = judge(
            answer, question=attempt.question, kind="handoff", deadline=attempt.deadline, gate=settings.gate
        )
        return _outcome(attempt, decision, facts)
    except RefusalError as refusal:
        logger.warning("denied handoff: %s", refusal.reason)
        logger.debug("detail of %s: %s", attempt.question.request_id, refusal.detail)
        return _denied(refusal.reason, attempt.started, **facts)
    except Exception as error:  # noqa: BLE001 - the last line: whatever goes wrong here is a deny
        logger.error("denied handoff: internal error (%s)", type(error).__name__)  # noqa: TRY400 - a traceback can hold values
        return _denied(Reason.POLICY_UNAVAILABLE, attempt.started, **facts)


def _outcome(
    attempt: HandoffAttempt, decision: PolicyDecision, facts: dict[str, Any]
) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
    facts |= {
        "code": decision.reason,
        "reasons": decision.reasons,
        "decision": decision,
        "duration_ms": (time.perf_counter() - attempt.started) * 1000.0,
    }
    if decision.decision == "allow":
        return HandoffAllowed(public_reason=decision.public_reason or "", payload=attempt.prepared.payload, **facts)
    if decision.decision == "deny":
        return HandoffDenied(public_reason=decision.public_reason or DENIED, **facts)
    proposal = suspended_handoff_proposal(
        to_agent_name=attempt.to_agent_name,
        prepared=attempt.prepared,
        surroundings=attempt.surroundings,
        question=attempt.question,
        decision=decision,
        policy_revision=facts.get("policy_revision"),
    )
    return HandoffSuspended(public_reason=decision.public_reason or APPROVAL_REQUIRED, proposal=proposal, **facts)


def _denied(reason: Reason, started: float, **facts: Any) -> HandoffDenied:
    return HandoffDenied(
        code=reason.value,
        public_reason=public_reason(reason),
        duration_ms=(time.perf_counter() - started) * 1000.0,
        **facts,
    )
