"""`guard.check()`: would this set-up work, and would it be safe? A probe decision tells.

The probe asks about a tool that nobody owns. A sound policy denies it, in a well-formed decision that echoes the
question; so a deny here means that the path from this guard to the rules works.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.call_request import CallRequest
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.policy_question import run_context_text, tool_question
from aioc_opa.core.preparation import PreparedCall
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import GuardCheckError
from aioc_opa.guard_core import Attempt, GuardCore
from aioc_opa.handoff_core import HandoffAttempt, begin_handoff
from aioc_opa.judgement import RefusalError, judge
from aioc_opa.models.outcome import HandoffDenied, Question
from aioc_opa.revision_gate import RefreshingGate, UnsafeAnyRevision

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.guard_settings import GuardSettings

PROBE_TOOL: Final = "aioc_opa_probe"

_ADVICE: Final = {
    Reason.POLICY_UNDEFINED: (
        "the engine has no value at {rule}: the decision path is misspelt, or no policy is loaded there yet"
    ),
    Reason.POLICY_MALFORMED_DECISION: (
        "what stands at {rule} is not a decision of the contract: point the guard at the library's entrypoint"
    ),
    Reason.POLICY_BINDING_MISMATCH: "the answer from {rule} does not echo the question: something answers from a cache",
    Reason.POLICY_EVALUATION_ERROR: "evaluating {rule} fails: run `opa check --strict` and `opa test` on the policy",
    Reason.POLICY_UNAVAILABLE: (
        "the engine cannot be reached, is no OPA, or refuses us: is it running, at this address, and does its "
        "system.authz let this token ask for {rule}?"
    ),
    Reason.POLICY_TIMEOUT: "the engine did not answer within the deadline",
    Reason.POLICY_REVISION_REJECTED: "the policy revision in force is not one that this guard accepts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a check found to work.

    Attributes:
        engine: name and version of the engine that answered.
        rule: the decision rule that was asked.
        policy_revision: the revision in force; None when the engine names none.
        tools: registered tools.
        accepts_any_revision: True when no revision gate is configured.
        duration_ms: milliseconds that the probe took.
    """

    engine: str
    rule: str
    policy_revision: str | None
    tools: tuple[str, ...]
    accepts_any_revision: bool
    duration_ms: float


def tool_probe(core: GuardCore, deadline: Deadline) -> Attempt:
    """The probe question.

    Raises:
        GuardCheckError: no tool is registered.
    """
    tools = core.registry.all()
    if not tools:
        raise GuardCheckError("no tool is registered: this guard denies every call; register tools before the check")
    around = CallRequest(
        target=PROBE_TOOL,
        raw_arguments="{}",
        agent_name=PROBE_TOOL,
        run_context=None,
        turn=0,
        call_id=None,
        principal=None,
    ).surroundings()
    proposal_hash = tool_proposal_hash(agent_name=PROBE_TOOL, tool_name=PROBE_TOOL, args_canonical_json="{}")
    body = tool_question(
        request_id=around.request_id,
        agent_name=PROBE_TOOL,
        tool_name=PROBE_TOOL,
        tool_version=None,
        call_id=around.call_id,
        raw_arguments="{}",
        requested_json="{}",
        args_canonical_json="{}",
        proposal_hash=proposal_hash,
        run_context=run_context_text(around.run_context, around.run_id),
        turn=0,
        principal=None,
        decode_assurance="raw",
    )
    return Attempt(
        tool=tools[0],
        prepared=PreparedCall(
            raw_arguments="{}",
            requested_arguments={},
            requested_json="{}",
            parsed={},
            args_canonical_json="{}",
            decode_assurance="raw",
        ),
        surroundings=around,
        question=Question(args_canonical_json="{}", proposal_hash=proposal_hash, request_id=around.request_id),
        body=body,
        deadline=deadline,
        started=time.perf_counter(),
    )


@dataclass(frozen=True, slots=True)
class Probing:
    """What a check goes by: the guard's core, the engine's name, and what the revision gate found wrong just now."""

    core: GuardCore
    engine_name: str
    problems: tuple[str, ...]


def begin_check(core: GuardCore, engine_name: str) -> Probing:
    """Let the revision gate ask now, for a check must not judge by what was known before. Blocks.

    Raises:
        GuardCheckError: the gate fails.
    """
    gate = core.settings.gate
    if not isinstance(gate, RefreshingGate):
        return Probing(core, engine_name, ())
    try:
        return Probing(core, engine_name, tuple(gate.refresh()))
    except Exception as error:
        raise GuardCheckError(f"the revision gate cannot be refreshed: {type(error).__name__}") from error


def handoff_probe(settings: GuardSettings, deadline: Deadline) -> HandoffAttempt:
    """The probe handoff: to an agent that nobody knows."""
    request = CallRequest.of_handoff(PROBE_TOOL, "{}", from_agent_name=PROBE_TOOL)
    attempt = begin_handoff(request, deadline, settings)
    if isinstance(attempt, HandoffDenied):
        raise GuardCheckError("the probe handoff is over the cap of a question: raise max_body_bytes")
    return attempt


def judge_handoff_probe(probing: Probing, attempt: HandoffAttempt, answer: EngineAnswer | BaseException) -> None:
    """Judge the answer to the probe handoff.

    Raises:
        GuardCheckError: as `report`.
    """
    _sound(probing, attempt, "handoff", answer)


def report(probing: Probing, attempt: Attempt, answer: EngineAnswer | BaseException) -> CheckReport:
    """Judge the answer to the probe call.

    Raises:
        GuardCheckError: saying in words what is wrong and what to do.
    """
    core, sound = probing.core, _sound(probing, attempt, "tool", answer)
    return CheckReport(
        engine=sound.engine or probing.engine_name,
        rule=core.settings.tool_path.rule,
        policy_revision=sound.policy_revision,
        tools=core.registry.names(),
        accepts_any_revision=isinstance(core.settings.gate, UnsafeAnyRevision),
        duration_ms=(time.perf_counter() - attempt.started) * 1000.0,
    )


def _sound(
    probing: Probing,
    attempt: Attempt | HandoffAttempt,
    kind: Literal["tool", "handoff"],
    answer: EngineAnswer | BaseException,
) -> EngineAnswer:
    settings, engine_name, problems = probing.core.settings, probing.engine_name, probing.problems
    rule = settings.tool_path.rule if kind == "tool" else settings.handoff_path.rule
    try:
        decision = judge(answer, question=attempt.question, kind=kind, deadline=attempt.deadline, gate=settings.gate)
    except RefusalError as refusal:
        advice = _ADVICE.get(refusal.reason, "the probe was refused").format(rule=rule)
        if refusal.reason is Reason.POLICY_REVISION_REJECTED and problems:
            advice = f"{advice}: {'; '.join(problems)}"
        raise GuardCheckError(f"{engine_name} engine: {advice} ({refusal.reason}: {refusal.detail})") from None
    if decision.decision == "allow" or isinstance(answer, BaseException):
        unknown = "a tool that nobody owns" if kind == "tool" else "a handoff to an agent that nobody knows"
        raise GuardCheckError(f"{engine_name} engine: the policy at {rule} ALLOWS {unknown} ({PROBE_TOOL})")
    return answer
