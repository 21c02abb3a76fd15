"""From an engine's answer to a decision that counts: step 5 of a call (design 2), the same for tools and handoffs."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.core.decision_decoder import DecisionRefusedError, decode_decision, expiry
from aioc_opa.core.engine_answer import EngineAnswer, EngineFailureError
from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.models.decision import PolicyDecision
    from aioc_opa.models.outcome import Question
    from aioc_opa.revision_gate import RevisionGate

logger: Final = logging.getLogger("aioc_opa.guard")


class RefusalError(Exception):
    """The runtime refuses on policy's behalf.

    Attributes:
        reason: a reserved reason.
        detail: for operators; can hold argument values.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def judge(
    answer: EngineAnswer | BaseException,
    *,
    question: Question,
    kind: Literal["tool", "handoff"],
    deadline: Deadline,
    gate: RevisionGate,
) -> PolicyDecision:
    """The decision in `answer`, when there is one that answers `question` in time and under an accepted revision.

    Args:
        answer: what the engine gave, or what it raised.
        question: what was asked.
        kind: what was asked.
        deadline: of the whole decision.
        gate: accepts or rejects the policy revision.

    Raises:
        RefusalError: in every other case.
    """
    if type(answer) is not EngineAnswer:
        raise failure(answer, deadline)
    if deadline.passed():
        raise RefusalError(Reason.POLICY_TIMEOUT, "the answer came after the deadline")
    try:
        decision = decode_decision(
            answer.result, proposal_hash=question.proposal_hash, request_id=question.request_id, kind=kind
        )
    except DecisionRefusedError as error:
        raise RefusalError(error.reason, error.detail) from None
    if not _accepted(gate, answer.policy_revision):
        raise RefusalError(Reason.POLICY_REVISION_REJECTED, f"revision {answer.policy_revision!r} is not accepted")
    expires = expiry(decision)
    if decision.decision == "allow" and expires is not None and expires <= datetime.now(UTC):
        # No permit outlives expiresAt (design 3.5), so there is none to give; a handoff has none, and is denied alike.
        raise RefusalError(Reason.PERMIT_INVALID, "the allow had expired when it came")
    return decision


def failure(error: object, deadline: Deadline) -> RefusalError:
    """The refusal for what an engine raised, or gave in place of an `EngineAnswer`."""
    if isinstance(error, EngineFailureError) and type(error.reason) is Reason:
        return RefusalError(error.reason, str(error.detail))
    if isinstance(error, TimeoutError) or deadline.passed():
        return RefusalError(Reason.POLICY_TIMEOUT, "past the deadline")
    return RefusalError(Reason.POLICY_UNAVAILABLE, f"the engine raised or gave {type(error).__name__}")


def _accepted(gate: RevisionGate, policy_revision: str | None) -> bool:
    try:
        return gate.accepts(policy_revision) is True
    except Exception:
        logger.exception("the revision gate failed, so the revision is rejected")
        return False
