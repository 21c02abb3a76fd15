"""What the sync and the async guard share: everything but waiting for the engine and running the handler.

A call goes through two functions around one question to the engine:

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
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.call_request import SurroundingsError, problem_of
from aioc_opa.core.decision_decoder import expiry
from aioc_opa.core.engine_answer import EngineAnswer
from aioc_opa.core.policy_question import principal_text, run_context_text, tool_question
from aioc_opa.core.preparation import prepare_call, tool_hash
from aioc_opa.core.public_reasons import APPROVAL_REQUIRED, DENIED, public_reason
from aioc_opa.core.reasons import Reason
from aioc_opa.judgement import RefusalError, judge
from aioc_opa.models.outcome import Allowed, Denied, Question, Suspended
from aioc_opa.permit import MAX_PERMIT_SECONDS, PermitBook, PermittedCall
from aioc_opa.suspension import suspended_tool_proposal
from aioc_opa.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from aioc_opa.call_request import CallRequest, Surroundings
    from aioc_opa.core.preparation import PreparedCall
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.models.decision import PolicyDecision
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


class GuardCore:
    """The pipeline of one guard. Thread-safe and task-safe: the state of a call is in its `Attempt`."""

    def __init__(self, settings: GuardSettings) -> None:
        self.settings = settings
        self.registry = ToolRegistry()
        self.permits = PermitBook()

    def begin(self, request: CallRequest, deadline: Deadline) -> Attempt | Denied:
        """Decode, parse, fingerprint and write the question.

        Raises:
            ToolArgumentsValidationError: the arguments are refused before policy.
        """
        started = time.perf_counter()
        tool = self.registry.find(request.target)
        if tool is None:
            # Unknown and forbidden look alike to the caller; operators can tell them apart (design 3.3).
            # The name is the model's: its digest only.
            name = request.target if type(request.target) is str else ""
            digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
            known = ", ".join(self.registry.names()[:20]) or "none"
            logger.warning("denied: %s (name sha256 %s…; registered: %s)", Reason.TOOL_NOT_REGISTERED, digest, known)
            return _not_registered(started)
        prepared = self.prepare(tool, request.raw_arguments)
        try:
            return self._attempt(request, tool, prepared, deadline, started)
        except Exception as error:  # noqa: BLE001 - names, context or principal without a canonical form, of whatever kind
            logger.warning("denied %s: %s: %s", tool.name, Reason.POLICY_INPUT_INVALID, problem_of(error))
            return _denied(Reason.POLICY_INPUT_INVALID, started)

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
        self, request: CallRequest, tool: RegisteredTool, prepared: PreparedCall, deadline: Deadline, started: float
    ) -> Attempt | Denied:
        around = request.surroundings()
        proposal_hash = tool_hash(around.agent_name, tool.name, prepared)
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
            deadline=deadline,
            started=started,
        )

    def conclude(self, attempt: Attempt, answer: EngineAnswer | BaseException) -> Allowed | Denied | Suspended:
        """Judge what the engine answered or raised. Never raises."""
        facts: dict[str, Any] = {"question": attempt.question}
        if type(answer) is EngineAnswer:
            facts |= {"policy_revision": answer.policy_revision, "engine": answer.engine}
        try:
            # RFC-0015 "Mutation Detection": canonicalize again when policy returns, whatever it returned.
            if not unchanged(attempt.tool, attempt.prepared.parsed, attempt.prepared.args_canonical_json):
                raise RefusalError(Reason.POLICY_MUTATED_ARGUMENTS, "the arguments changed while they were judged")
            decision = judge(
                answer, question=attempt.question, kind="tool", deadline=attempt.deadline, gate=self.settings.gate
            )
            return self._outcome(attempt, decision, facts)
        except RefusalError as refusal:
            logger.warning("denied %s: %s", attempt.tool.name, refusal.reason)
            # An engine's error text can hold argument values: for operators who ask for it.
            logger.debug("detail of %s: %s", attempt.question.request_id, refusal.detail)
            return _denied(refusal.reason, attempt.started, **facts)
        except Exception as error:  # noqa: BLE001 - the last line: whatever goes wrong here is a deny
            logger.error("denied %s: internal error (%s)", attempt.tool.name, type(error).__name__)  # noqa: TRY400 - a traceback can hold argument values
            return _denied(Reason.POLICY_UNAVAILABLE, attempt.started, **facts)

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

    def redeem(self, permit: object) -> PermittedCall | Denied:
        """Step 7: what the permit stands for, once."""
        call = self.permits.redeem(permit)
        if call is None:
            logger.warning("denied: %s", Reason.PERMIT_INVALID)
            return _denied(Reason.PERMIT_INVALID, time.perf_counter(), stage="permit")
        return call

    def ready(self, call: PermittedCall) -> Denied | None:
        """Step 6 again, the last thing before the handler: None when the object is unchanged and the permit lives."""
        if not unchanged(call.tool, call.parsed, call.args_canonical_json):
            reason = Reason.POLICY_MUTATED_ARGUMENTS
        elif time.monotonic() >= call.expires_at:  # a provider, or the queue for a thread, took too long
            reason = Reason.PERMIT_INVALID
        else:
            return None
        logger.warning("denied %s: %s", call.tool.name, reason)
        return _denied(reason, time.perf_counter(), stage="permit", question=call.question)

    def injected(self, call: PermittedCall) -> dict[str, Any]:
        """What the providers of injected context give, by parameter name; an async one gives an awaitable."""
        if not call.tool.inject:
            return {}
        invocation = call.surroundings.invocation(call.tool.name)
        return {name: provider(invocation) for name, provider in call.tool.inject.items()}

    def injection_failed(self, call: PermittedCall, error: Exception) -> Denied:
        """The deny for a provider of injected context that raised: the handler was not entered."""
        logger.error("denied %s: a provider of injected context raised %s", call.tool.name, type(error).__name__)
        return _denied(Reason.PERMIT_INVALID, time.perf_counter(), stage="permit", question=call.question)


def unchanged(tool: RegisteredTool, parsed: object, args_canonical_json: str) -> bool:
    """Whether the judged object still has the canonical text that was judged. Equal texts, equal hashes."""
    try:
        return tool.schema.canonical_text(parsed) == args_canonical_json
    except Exception:  # noqa: BLE001 - an object that cannot be written any more has changed
        return False


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
    )


def _not_registered(started: float) -> Denied:
    return Denied(
        code=Reason.TOOL_NOT_AUTHORIZED.value,
        audit_code=Reason.TOOL_NOT_REGISTERED.value,
        public_reason=public_reason(Reason.TOOL_NOT_AUTHORIZED),
        stage="access",
        duration_ms=(time.perf_counter() - started) * 1000.0,
    )


def _denied(reason: Reason, started: float, **facts: Any) -> Denied:
    return Denied(
        code=reason.value,
        audit_code=reason.value,
        public_reason=public_reason(reason),
        duration_ms=(time.perf_counter() - started) * 1000.0,
        **facts,
    )
