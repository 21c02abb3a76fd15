"""Between a guard and its observer: what is told, and that telling it can neither stop nor change a decision."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from aioc_opa.arrival import Arrival
from aioc_opa.core.audit.labels import digest_label, id_label, reason_label, reason_labels, tool_label
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import ToolArgumentsValidationError
from aioc_opa.handoff_core import HandoffAttempt
from aioc_opa.models.outcome import (
    Allowed,
    Denied,
    HandoffAllowed,
    HandoffSuspended,
    Outcome,
    Suspended,
)
from aioc_opa.telemetry.observer import ObservedCall, ObservedDecision

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    from aioc_opa.call_request import Surroundings
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.telemetry.observer import DecisionObserver, Kind, Observation, Verdict

logger: Final = logging.getLogger("aioc_opa.telemetry")

MAX_REVISION: Final = 4096

FAILURES: Final = frozenset(
    {
        Reason.POLICY_INPUT_INVALID,
        Reason.POLICY_UNDEFINED,
        Reason.POLICY_MALFORMED_DECISION,
        Reason.POLICY_BINDING_MISMATCH,
        Reason.POLICY_EVALUATION_ERROR,
        Reason.POLICY_UNAVAILABLE,
        Reason.POLICY_TIMEOUT,
        Reason.POLICY_REVISION_REJECTED,
        Reason.POLICY_MUTATED_ARGUMENTS,
        Reason.APPROVAL_UNAVAILABLE,
        Reason.ACCESS_DEADLINE_EXCEEDED,
        Reason.AUDIT_UNAVAILABLE,
    }
)
"""Denies that say: something is broken. Every other deny is somebody's answer."""

_O = TypeVar("_O", bound=Outcome)


class Watch:
    """Watches one decision: the body of the `with` block is the decision, and `seen` is told its outcome.

    Args:
        observer: who is told.
        settings: of the guard; its `codes` are those that are told as they are.
        subject: the call or handoff as far as it is known.
        kind: of a subject that was refused before it was known.
        started: `time.perf_counter()` seconds, where the decision began before the watch.
    """

    __slots__ = ("_codes", "_kind", "_observation", "_observer", "_outcome", "_started", "_subject")

    def __init__(
        self,
        observer: DecisionObserver,
        settings: GuardSettings,
        subject: object,
        kind: Kind = "tool",
        *,
        started: float | None = None,
    ) -> None:
        self._observer = observer
        self._codes: Collection[str] = settings.codes
        self._subject = subject
        self._kind = kind
        self._observation: Observation | None = None
        self._outcome: Outcome | None = None
        self._started = time.perf_counter() if started is None else started

    def __enter__(self) -> Self:
        try:
            self._observation = self._observer.began(_call(self._subject, self._kind))
        except Exception as error:  # noqa: BLE001 - an observer of whatever kind; a decision does not depend on it
            _complain(error)
        return self

    def seen(self, outcome: _O) -> _O:
        """Note what was decided."""
        self._outcome = outcome
        return outcome

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._observation is None:
            return
        try:
            self._observation.ended(self._decision(error))
        except Exception as problem:  # noqa: BLE001 - as above
            _complain(problem)

    def _decision(self, error: BaseException | None) -> ObservedDecision:
        seconds = time.perf_counter() - self._started
        outcome = self._outcome
        if outcome is None:
            if isinstance(error, ToolArgumentsValidationError):
                return ObservedDecision(
                    verdict="invalid_arguments", reason="invalid_arguments", duration_seconds=seconds
                )
            return ObservedDecision(verdict="interrupted", reason=type(error).__name__, duration_seconds=seconds)
        code = outcome.audit_code if isinstance(outcome, Denied) else outcome.code
        revision = outcome.policy_revision
        # Asked for now: the access gate may have bound the caller to another tenant than it came with.
        surroundings: Surroundings | None = getattr(self._subject, "surroundings", None)
        return ObservedDecision(
            verdict=_verdict(outcome),
            reason=reason_label(code, self._codes),
            reasons=reason_labels(outcome.reasons, self._codes),
            failed=outcome.decision is None and code in FAILURES,
            policy_revision=(revision if revision is None or len(revision) <= MAX_REVISION else digest_label(revision)),
            engine=id_label(outcome.engine or None),
            decision_id=id_label(outcome.decision_id),
            approval_id=getattr(outcome, "approval_id", None) or getattr(self._subject, "approval_id", None),
            proposal_hash=None if outcome.question is None else outcome.question.proposal_hash,
            tenant=None if surroundings is None else surroundings.tenant,
            duration_seconds=seconds,
        )


def _call(subject: object, kind: Kind) -> ObservedCall:
    facts: dict[str, Any] = {"kind": kind}
    if isinstance(subject, Arrival):
        tool = subject.tool
        facts["target"] = tool_label(subject.request.target, registered=tool is not None)
        facts["registered"] = tool is not None
        facts["tool_version"] = None if tool is None else id_label(tool.version)
    elif isinstance(subject, HandoffAttempt):
        facts["target"] = id_label(subject.to_agent_name)
    else:
        return ObservedCall(kind=kind)
    around = subject.surroundings
    return ObservedCall(
        **facts,
        agent_name=id_label(around.agent_name),
        call_id=id_label(around.call_id),
        run_id=id_label(around.run_id),
        request_id=around.request_id,
    )


def _verdict(outcome: Outcome) -> Verdict:
    if isinstance(outcome, Allowed | HandoffAllowed):
        return "allow"
    if isinstance(outcome, Suspended | HandoffSuspended):
        return "approval_required"
    return "deny"


def _complain(error: Exception) -> None:
    # The type only: an observer's error can quote what it was told.
    logger.warning("the observer of decisions failed: %s", type(error).__name__)
