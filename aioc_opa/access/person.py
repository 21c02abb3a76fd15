"""Step 5 of the gate: a person is asked, without arguments (Trussium's human-approval contract).

A finite wait within the deadline; an answer counts for this question alone, because it echoes the question's random
id and the fingerprint of the call. It never counts for the arguments: policy decides on those afterwards.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aioc_opa.access.answers import approval_answer
from aioc_opa.access.case import RefusedError, whole_milliseconds
from aioc_opa.access.details import Detail
from aioc_opa.access.effects import Effect, Failure
from aioc_opa.access.fingerprint import access_fingerprint
from aioc_opa.access.names import bounded_id
from aioc_opa.access.trail import instant
from aioc_opa.core.reasons import ALLOWED, Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.models.tool_authorization import ToolApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Generator

    from aioc_opa.access.case import Case, Entitled

MAX_APPROVAL_SECONDS: Final = 10.0
"""A person is waited for no longer than this, and never past the deadline."""


def ask_person(adapter: object, case: Case, entitled: Entitled, code: str) -> Generator[Effect, object, None]:
    """Returns when a person has approved in time.

    Raises:
        RefusedError: ``tool_not_authorized``, or ``approval_timed_out``.
        BaseException: the caller's cancellation; the pending approval has then ended, with an event.
    """
    case.require_time()
    wait = min(MAX_APPROVAL_SECONDS, whole_milliseconds(case.until))
    expires = Deadline.after(wait)
    request = approval_request(case, entitled, code, wait)
    case.trail.approval_requested(code)
    try:
        result = yield Effect("approval", adapter, request, expires)
    except BaseException:
        case.trail.approval_ended("cancelled", reason=Reason.TOOL_NOT_AUTHORIZED, detail=Detail.CANCELLED)
        raise
    failure = result if isinstance(result, Failure) else None
    answer = approval_answer(result, request)
    if expires.passed() or (failure is not None and failure.late) or (answer and answer.decision == "expired"):
        case.trail.approval_ended("expired", reason=Reason.APPROVAL_TIMED_OUT, detail=Detail.APPROVAL_EXPIRED)
        raise RefusedError(Reason.APPROVAL_TIMED_OUT, Detail.APPROVAL_EXPIRED)
    if answer is None:
        detail = Detail.APPROVAL_FAILED if failure is not None else Detail.APPROVAL_MALFORMED
        case.trail.approval_ended("denied", reason=Reason.TOOL_NOT_AUTHORIZED, detail=detail)
        raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, detail)
    approved = answer.decision == "approved"
    case.trail.approval_ended(
        answer.decision,
        reason=ALLOWED if approved else Reason.TOOL_NOT_AUTHORIZED,
        detail=answer.code,
        decided_by=answer.decided_by,
    )
    if not approved:
        raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, answer.code)


def approval_request(case: Case, entitled: Entitled, code: str, seconds: float) -> ToolApprovalRequest:
    """What the person sees. `seconds` is how long it stays open."""
    question, tool, principal = case.question, entitled.tool, entitled.principal
    now = int(time.time() * 1000) / 1000  # read once: the two ends are exactly `seconds` apart
    return ToolApprovalRequest(
        request_id=question.request_id,
        parent_execution_id=bounded_id(question.run_id),
        tool_name=tool.name,
        tool_version=tool.version,
        identity=principal.identity,
        created_at=instant(now),
        expires_at=instant(now + seconds),
        reason_code=code,
        fingerprint=access_fingerprint(
            identity=principal.identity,
            tenant=principal.tenant,
            tool_name=tool.name,
            tool_version=tool.version,
            run_id=question.run_id,
            call_id=question.call_id,
        ),
    )
