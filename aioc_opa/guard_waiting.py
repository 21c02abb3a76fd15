"""`call(…, wait=seconds)`: what is waited for, and what becomes of the call afterwards (design 3.5)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from aioc_opa.approvals.refused_state import reason_of_state
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied
from aioc_opa.errors import ConfigurationError
from aioc_opa.guard_resume import Unresumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.waiting import Waited
    from aioc_opa.call_request import CallOptions, ResumeOptions, WaitingOptions
    from aioc_opa.guard_core import GuardCore
    from aioc_opa.models.outcome import Suspended

logger: Final = logging.getLogger("aioc_opa.guard")

MAX_WAIT_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The wish of one call to wait.

    Attributes:
        seconds: at most.
        options: of the call.
        renew: gives the run context after the wait; None keeps the first one.
        broker: of the guard.
        tenant: of the caller, as stores write it.
        began: `time.perf_counter()` seconds, when the call came.
    """

    seconds: float
    options: CallOptions
    renew: Callable[[], Any] | None
    broker: ApprovalBroker
    tenant: str
    began: float

    def refused(self, waited: Waited, suspended: Suspended) -> Unresumed | None:
        """The deny that the wait ended in; None when the call is approved and is to be resumed."""
        if waited.state is ApprovalState.APPROVED:
            return None
        if waited.timed_out:
            return self._denied(Reason.APPROVAL_TIMED_OUT, suspended)
        return self._denied(
            Reason.APPROVAL_UNAVAILABLE if waited.state is None else reason_of_state(waited.state), suspended
        )

    def failed(self, error: Exception, suspended: Suspended) -> Unresumed:
        """The deny for a store that fails, or an application that cannot renew the context."""
        logger.error("denied: waiting for an approval failed (%s)", type(error).__name__)
        return self._denied(Reason.APPROVAL_UNAVAILABLE, suspended)

    def _denied(self, reason: Reason, suspended: Suspended) -> Unresumed:
        refusal = denied(
            reason,
            time.perf_counter(),
            question=suspended.question,
            policy_revision=suspended.policy_revision,
            engine=suspended.engine,
        )
        return Unresumed(
            outcome=refusal,
            approval_id=suspended.approval_id,
            principal=self.options.get("principal"),
            about=suspended.proposal,
            request_id=None if suspended.question is None else suspended.question.request_id,
            started=self.began,
        )

    def resume_options(self, run_context: Any) -> ResumeOptions:
        """What the approved call is resumed with."""
        names = ("principal", "capability", "provider", "model")
        given = {name: value for name, value in self.options.items() if name in names}
        return cast("ResumeOptions", {**given, "run_context": run_context})


def waiting_of(options: WaitingOptions, core: GuardCore) -> tuple[Waiting | None, CallOptions]:
    """The wish to wait, and the rest of the options.

    Raises:
        ConfigurationError: ``wait`` is no number of seconds, or there are no approvals to wait for.
    """
    rest = cast("CallOptions", {k: v for k, v in options.items() if k not in {"wait", "renew_run_context"}})
    seconds, renew = options.get("wait"), options.get("renew_run_context")
    if seconds is None:
        return None, rest
    if type(seconds) not in {int, float} or not 0 < seconds <= MAX_WAIT_SECONDS:
        raise ConfigurationError(f"wait must be seconds, above 0 and at most {MAX_WAIT_SECONDS}, not {seconds!r}")
    return Waiting(
        seconds=seconds,
        options=rest,
        renew=renew,
        broker=core.broker(),
        tenant=core.tenant_of(rest.get("principal")),
        began=time.perf_counter(),
    ), rest
