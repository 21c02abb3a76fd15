"""One question on its way through the gate's steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.access.details import Detail
from aioc_opa.core.reasons import Reason
from aioc_opa.models.tool_authorization import MAX_DEADLINE_SECONDS

if TYPE_CHECKING:
    from aioc_opa.access.budgets import Reservation
    from aioc_opa.access.questions import AccessQuestion, ToolMetadata
    from aioc_opa.access.trail import Trail
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.models.principal import Principal

_LEAST_SECONDS: Final = 0.001


class RefusedError(Exception):
    """Ends the steps with a refusal.

    Attributes:
        reason: for the audit.
        code: what exactly refused.
    """

    def __init__(self, reason: Reason, code: str) -> None:
        super().__init__(code)
        self.reason = reason
        self.code = code


@dataclass(slots=True, kw_only=True)
class Case:
    """What is known of one question.

    Attributes:
        question: as asked; its ids are sound.
        until: when step 1 must be over.
        trail: what is told about it.
        decided: whether the ``…decided`` event is out.
        reservation: what is reserved for it.
        release_elsewhere: whether a reservation is released in another thread: this one may be an event loop's.
    """

    question: AccessQuestion
    until: Deadline
    trail: Trail
    release_elsewhere: bool
    decided: bool = False
    reservation: Reservation | None = field(default=None)

    def require_time(self) -> None:
        """Refuse when time is up.

        Raises:
            RefusedError: it is.
        """
        if self.until.passed():
            raise RefusedError(Reason.ACCESS_DEADLINE_EXCEEDED, Detail.DEADLINE)

    def decide(self, decision: str, *, reason: str, detail: str) -> None:
        """Tell the decision, once."""
        if not self.decided:
            self.decided = True
            self.trail.decided(decision, reason=reason, detail=detail)

    def give_back(self) -> None:
        """The handler will not be entered."""
        if self.reservation is not None:
            if self.release_elsewhere:
                self.reservation.release_elsewhere()
            else:
                self.reservation.release()


@dataclass(frozen=True, slots=True)
class Entitled:
    """A registered tool, and a caller that the allow-lists let at it."""

    tool: ToolMetadata
    principal: Principal


def whole_milliseconds(until: Deadline) -> float:
    """Seconds that are left, in whole milliseconds; the least there is rather than none."""
    return max(_LEAST_SECONDS, min(MAX_DEADLINE_SECONDS, int(until.remaining() * 1000) / 1000))
