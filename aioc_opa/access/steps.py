"""The steps of the gate, without waiting for anything: what must be waited for is yielded as an `Effect`.

1. The question: exact types and bounds; a tool that is registered; an authenticated identity; time left.
2. Allow-lists (`allow_lists`): capability lists first, then the identity's tools among the registered ones.
3. The policy adapter, if there is one: allow, deny or approval_required, in time, of exactly the right type.
4. Budgets: reserved before a person is asked, so that nobody approves what could not run.
5. An approval, if policy asks for one (`person`).

Every refusal after step 4 gives back what was reserved. Whatever happens, exactly one ``…decided`` event follows
``…requested``, and a pending approval ends with an event of its own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from aioc_opa.access.answers import policy_answer
from aioc_opa.access.budgets import Reservation
from aioc_opa.access.case import Case, Entitled, RefusedError, whole_milliseconds
from aioc_opa.access.details import Detail
from aioc_opa.access.effects import Effect, Failure
from aioc_opa.access.names import bounded_id
from aioc_opa.access.person import ask_person
from aioc_opa.access.questions import AccessGranted, AccessRefused
from aioc_opa.access.soundness import has_sound_ids, is_sound
from aioc_opa.access.trail import Trail
from aioc_opa.core.reasons import ALLOWED, Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.models.tool_authorization import MAX_DEADLINE_SECONDS, ToolAuthorizationRequest

if TYPE_CHECKING:
    from collections.abc import Generator

    from aioc_opa.access.allow_lists import AllowLists, Caller
    from aioc_opa.access.answers import Answer
    from aioc_opa.access.budgets import Budgets
    from aioc_opa.access.questions import AccessQuestion
    from aioc_opa.access.trail import Reporter

logger: Final = logging.getLogger("aioc_opa.access")


class Steps:
    """What one gate is made of. Immutable, thread-safe."""

    def __init__(
        self, *, lists: AllowLists, adapter: object, approvals: object, budgets: Budgets | None, reporter: Reporter
    ) -> None:
        self.lists: Final = lists
        self.adapter: Final = adapter
        self.approvals: Final = approvals
        self.budgets: Final = budgets
        self.reporter: Final = reporter

    def decide(
        self, question: AccessQuestion, deadline: Deadline, *, on_loop: bool
    ) -> Generator[Effect, object, AccessGranted | AccessRefused]:
        """Decide one question. Raises only what is thrown into it: a cancellation, or the keyboard.

        Args:
            question: who wants to use which tool.
            deadline: of the whole decision.
            on_loop: whether this runs on an event loop, which nothing here may block.
        """
        if not has_sound_ids(question):
            # There is nothing by which an event could name it; a guard cannot come here.
            logger.error("denied: %s", Detail.QUESTION_INVALID)
            return AccessRefused(reason=Reason.TOOL_NOT_AUTHORIZED, detail_code=Detail.QUESTION_INVALID.value)
        sound = is_sound(question)
        case = Case(
            question=question,
            until=self._until(deadline),
            trail=Trail(self.reporter, question, question.registered if sound else None),
            release_elsewhere=on_loop,
        )
        try:
            return (yield from self._decide(case, sound=sound))
        except RefusedError as refusal:
            return _refused(case, refusal.reason, refusal.code)
        except Exception as error:  # noqa: BLE001 - the last line: whatever goes wrong here is a refusal
            logger.error("denied: internal error (%s)", type(error).__name__)  # noqa: TRY400 - exception texts stay out of logs
            return _refused(case, Reason.TOOL_NOT_AUTHORIZED, Detail.INTERNAL_ERROR)
        except BaseException:
            _refused(case, Reason.TOOL_NOT_AUTHORIZED, Detail.CANCELLED)
            raise

    def _decide(self, case: Case, *, sound: bool) -> Generator[Effect, object, AccessGranted]:
        caller = self.lists.caller(case.question.principal)
        case.trail.requested(None if isinstance(caller, Detail) else caller.principal)
        if not sound:
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, Detail.QUESTION_INVALID)
        entitled = self._entitled(case, caller)
        answer = None
        if self.adapter is not None:
            answer = yield from self._ask_policy(case, entitled)
        if self.budgets is not None:
            yield from self._reserve(self.budgets, case, entitled)
        if answer is None or answer.decision == "allow":
            case.decide("allow", reason=ALLOWED, detail=ALLOWED if answer is None else answer.code)
        elif self.approvals is None:
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, Detail.APPROVAL_NOT_CONFIGURED)
        else:
            case.decide("approval_required", reason="approval_required", detail=answer.code)
            yield from ask_person(self.approvals, case, entitled, answer.code)
        return AccessGranted(principal=entitled.principal, reservation=case.reservation)

    def _entitled(self, case: Case, caller: Caller | Detail) -> Entitled:
        tool = case.question.registered
        if tool is None:
            raise RefusedError(Reason.TOOL_NOT_REGISTERED, Detail.TOOL_NOT_REGISTERED)
        if isinstance(caller, Detail):
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, caller)
        case.require_time()
        refused = self.lists.refuses(caller, case.question.capability, tool.name)
        if refused is not None:
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, refused)
        return Entitled(tool, caller.principal)

    def _ask_policy(self, case: Case, entitled: Entitled) -> Generator[Effect, object, Answer]:
        question = case.question
        request = ToolAuthorizationRequest(
            request_id=question.request_id,
            execution_id=bounded_id(question.run_id),
            identity=entitled.principal.identity,
            tenant_id=entitled.principal.tenant,
            tool_name=entitled.tool.name,
            tool_version=entitled.tool.version,
            capability=question.capability,
            provider=question.provider,
            model=question.model,
            deadline_seconds=whole_milliseconds(case.until),
            resource_budget=entitled.tool.cost,
        )
        result = yield Effect("policy", self.adapter, request, case.until)
        case.require_time()
        if isinstance(result, Failure):
            late = Reason.ACCESS_DEADLINE_EXCEEDED
            raise RefusedError(late if result.late else Reason.TOOL_NOT_AUTHORIZED, result.code)
        answer = policy_answer(result)
        if answer is None:
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, Detail.ADAPTER_MALFORMED)
        if answer.decision == "deny":
            raise RefusedError(Reason.TOOL_NOT_AUTHORIZED, answer.code)
        return answer

    def _reserve(self, budgets: Budgets, case: Case, entitled: Entitled) -> Generator[Effect, object, None]:
        if budgets.limits.per_run and not case.question.run_id_given:
            raise RefusedError(Reason.BUDGET_EXCEEDED, Detail.RUN_ID_MISSING)
        charges = budgets.charges(
            tenant=entitled.principal.tenant,
            identity=entitled.principal.identity,
            run_id=case.question.run_id,
            cost=entitled.tool.cost,
        )
        result = yield Effect("budget", lambda: budgets.reserve(charges), budgets.ledger.blocks, case.until)
        if isinstance(result, Reservation):
            case.reservation = result
        case.require_time()
        if isinstance(result, Detail):
            raise RefusedError(Reason.BUDGET_EXCEEDED, result)
        if not isinstance(result, Reservation):
            raise RefusedError(Reason.BUDGET_EXCEEDED, Detail.BUDGET_UNAVAILABLE)

    def _until(self, deadline: Deadline) -> Deadline:
        seconds = None if self.budgets is None else self.budgets.limits.deadline_seconds
        own = Deadline.after(MAX_DEADLINE_SECONDS if seconds is None else seconds)
        return deadline if deadline.at < own.at else own


def _refused(case: Case, reason: Reason, code: str) -> AccessRefused:
    case.give_back()
    case.decide("deny", reason=reason, detail=code)
    return AccessRefused(reason=reason, detail_code=str(code))
