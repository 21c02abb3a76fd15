"""The audit's event of a handoff: its decision is the last thing that this package sees of it.

The application carries an allowed handoff out, so the event of the decision is also the intent: in ``required`` mode a
handoff that is not on record is denied with ``audit_unavailable``, as a tool's effect is (design 3.4).
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from aioc_opa.core.public_reasons import public_reason
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import AuditUnavailableError
from aioc_opa.models.outcome import HandoffAllowed, HandoffDenied, HandoffSuspended

if TYPE_CHECKING:
    from aioc_opa.call_request import CallRequest
    from aioc_opa.guard_audit import GuardAudit
    from aioc_opa.handoff_core import HandoffAttempt

logger: Final = logging.getLogger("aioc_opa.guard")

HandoffOutcome = HandoffAllowed | HandoffDenied | HandoffSuspended
"""What a guard answers to a handoff."""


def recorded(
    audit: GuardAudit | None, request: CallRequest, attempt: HandoffAttempt | HandoffDenied, outcome: HandoffOutcome
) -> HandoffOutcome:
    """Record a decided handoff. Never raises.

    Returns:
        `outcome`, or a denial in its place where it allows and cannot be recorded.
    """
    if audit is None:
        return outcome
    event = audit.handoff(request, attempt, outcome)
    if not isinstance(outcome, HandoffAllowed):
        audit.record(event)
        return outcome
    try:
        audit.record_intent(event)
    except AuditUnavailableError:
        return _unavailable(outcome)
    return outcome


async def recorded_async(
    audit: GuardAudit | None, request: CallRequest, attempt: HandoffAttempt | HandoffDenied, outcome: HandoffOutcome
) -> HandoffOutcome:
    """`recorded`, for coroutines: the event loop goes on meanwhile."""
    if audit is None:
        return outcome
    event = audit.handoff(request, attempt, outcome)
    if not isinstance(outcome, HandoffAllowed):
        await audit.record_async(event)
        return outcome
    try:
        await audit.record_intent_async(event)
    except AuditUnavailableError:
        return _unavailable(outcome)
    return outcome


def _unavailable(outcome: HandoffAllowed) -> HandoffDenied:
    logger.error("denied handoff: %s", Reason.AUDIT_UNAVAILABLE)
    started = time.perf_counter() - outcome.duration_ms / 1000.0
    return HandoffDenied(
        code=Reason.AUDIT_UNAVAILABLE.value,
        public_reason=public_reason(Reason.AUDIT_UNAVAILABLE),
        question=outcome.question,
        policy_revision=outcome.policy_revision,
        engine=outcome.engine,
        decision_id=outcome.decision_id,
        duration_ms=(time.perf_counter() - started) * 1000.0,
    )
