"""What a guard tells its audit trail: one event a decision, one before an effect, one after it.

Only names, codes, ids and times go in; there is no field for anything else (`models.audit_event`). Building an event
never raises: what cannot be written as an event is an alarm, and in ``required`` mode a denied effect.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.audit.labels import digest_label, id_label, reason_label, reason_labels, tool_label
from aioc_opa.decision_event import UnmadeEvent, event_of, tool_facts
from aioc_opa.errors import AuditUnavailableError
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied
from aioc_opa.models.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Collection

    from aioc_opa.arrival import Arrival
    from aioc_opa.audit.arguments import ArgumentVault
    from aioc_opa.audit.trail import AuditTrail
    from aioc_opa.call_request import CallRequest, Surroundings
    from aioc_opa.handoff_core import HandoffAttempt
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.outcome import HandoffSuspended, Suspended
    from aioc_opa.permit import PermittedCall

logger: Final = logging.getLogger("aioc_opa.audit")

MAX_REVISION: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An execution that the trail knows of."""

    execution_id: str
    started: float


class GuardAudit:
    """Makes the events of one guard.

    Args:
        trail: where they go.
        codes: the reason codes that the packs in force declare; any other is written as ``undeclared``.
        vault: keeps the arguments of judged calls, apart from the events; None keeps none.
    """

    def __init__(self, trail: AuditTrail, codes: Collection[str], vault: ArgumentVault | None = None) -> None:
        self.trail: Final = trail
        self.vault: Final = vault
        self._codes: Final = frozenset(codes)

    def record(self, event: AuditEvent | UnmadeEvent | None) -> None:
        """Record what has been decided or has happened. Never raises; waits in ``required`` mode."""
        found = self._ready(event)
        if found is not None:
            self.trail.record(found)

    async def record_async(self, event: AuditEvent | UnmadeEvent | None) -> None:
        """`record` for coroutines."""
        found = self._ready(event)
        if found is not None:
            await self.trail.record_async(found)

    def _ready(self, event: AuditEvent | UnmadeEvent | None) -> AuditEvent | UnmadeEvent | None:
        """Who waits for the record anyway makes the event; otherwise its writer does."""
        return event.made() if type(event) is UnmadeEvent and self.trail.mode == "required" else event

    def record_later(self, event: AuditEvent | None) -> None:
        """`record` without waiting, whatever the mode: in a thread where the trail would wait."""
        if event is None:
            return
        if self.trail.mode == "required":
            threading.Thread(target=self.trail.record, args=(event,), name="aioc-opa-audit-record").start()
        else:
            self.trail.record(event)

    def record_intent(self, event: AuditEvent | None) -> None:
        """Record what is about to be done.

        Raises:
            AuditUnavailableError: ``required`` mode, and it is not known to be durable.
        """
        if event is not None:
            self.trail.record_intent(event)
        elif self.trail.mode == "required":
            raise AuditUnavailableError("the event cannot be written")

    async def record_intent_async(self, event: AuditEvent | None) -> None:
        """`record_intent`, for coroutines.

        Raises:
            AuditUnavailableError: as for `record_intent`.
        """
        if event is not None:
            await self.trail.record_intent_async(event)
        elif self.trail.mode == "required":
            raise AuditUnavailableError("the event cannot be written")

    def turned_away(self, request: CallRequest, denied: Denied, *, registered: bool) -> AuditEvent | None:
        """The event of a call that ended before the gate: no such tool, or surroundings that are none."""
        principal = request.principal if type(request.principal) is Principal else None
        return event_of(
            "access",
            principal=principal,
            agent_name=id_label(request.agent_name),
            call_id=id_label(request.call_id),
            tool_name=tool_label(request.target, registered=registered),
            decision="deny",
            reason=denied.audit_code,
            duration_ms=denied.duration_ms,
        )

    def access(self, arrival: Arrival, denied: Denied | None) -> UnmadeEvent:
        """The event of what the access gate answered."""
        facts = {
            **self._around(arrival.surroundings),
            **tool_facts(arrival.tool, arrival.request.target),
            "decision": "allow" if denied is None else "deny",
            "reason": "allowed" if denied is None else denied.audit_code,
            "duration_ms": (time.perf_counter() - arrival.started) * 1000.0,
            "approval_id": arrival.approval_id,
        }
        return UnmadeEvent("access", facts)

    def keep(self, arrival: Arrival, outcome: Allowed | Denied | Suspended) -> str | None:
        """Keep the arguments of a judged call, where that is wanted. Blocks on the vault. Never raises.

        Returns:
            What the event calls them by; None when nothing is kept, which the event then says.
        """
        if self.vault is None or outcome.question is None or arrival.tool is None:
            return None
        try:
            return self.vault.keep(
                tenant=arrival.surroundings.tenant,
                request_id=outcome.question.request_id,
                tool_name=arrival.tool.name,
                args_canonical_json=outcome.question.args_canonical_json,
            )
        except Exception as error:  # noqa: BLE001 - the decision stands; that it cannot be replayed is an alarm
            logger.critical("the arguments of a decision could not be kept (%s)", type(error).__name__)
            return None

    def decided(
        self, arrival: Arrival, outcome: Allowed | Denied | Suspended, arguments_digest: str | None = None
    ) -> UnmadeEvent:
        """The event of a decision on a call: policy's, or the runtime's on its behalf."""
        tenant = arrival.surroundings.tenant
        proposal_hash = None if outcome.question is None else outcome.question.proposal_hash
        verdict = (
            "allow" if isinstance(outcome, Allowed) else "deny" if isinstance(outcome, Denied) else "approval_required"
        )
        facts = {
            **self._around(arrival.surroundings),
            **tool_facts(arrival.tool, arrival.request.target),
            "decision": verdict,
            "reason": self._code(outcome.audit_code if isinstance(outcome, Denied) else outcome.code),
            "reasons": reason_labels(outcome.reasons, self._codes),
            "policy_revision": _bounded(outcome.policy_revision, MAX_REVISION),
            "decision_id": id_label(outcome.decision_id),
            "engine": id_label(outcome.engine or None),
            "duration_ms": outcome.duration_ms,
            "approval_id": getattr(outcome, "approval_id", None) or arrival.approval_id,
            "proposal_ref": None if proposal_hash is None else self.trail.proposal_ref(tenant, proposal_hash),
            "arguments_digest": arguments_digest,
        }
        return UnmadeEvent("tool_policy", facts)

    def handoff(
        self,
        request: CallRequest,
        attempt: HandoffAttempt | HandoffDenied,
        outcome: HandoffAllowed | HandoffDenied | HandoffSuspended,
    ) -> AuditEvent | None:
        """The event of a decision on a handoff.

        A model can invent whom it hands over to: where nothing allows or holds it, that name is a digest.
        """
        around: dict[str, Any] = (
            {
                "principal": request.principal if type(request.principal) is Principal else None,
                "agent_name": id_label(request.agent_name),
            }
            if isinstance(attempt, HandoffDenied)
            else self._around(attempt.surroundings)
        )
        tenant = None if around["principal"] is None else around["principal"].tenant
        proposal_hash = None if outcome.question is None else outcome.question.proposal_hash
        refused = isinstance(outcome, HandoffDenied)
        return event_of(
            "handoff_policy",
            **around,
            to_agent_name=digest_label(request.target) if refused else id_label(request.target),
            decision="deny" if refused else "allow" if isinstance(outcome, HandoffAllowed) else "approval_required",
            reason=self._code(outcome.code),
            reasons=reason_labels(outcome.reasons, self._codes),
            policy_revision=_bounded(outcome.policy_revision, MAX_REVISION),
            decision_id=id_label(outcome.decision_id),
            engine=id_label(outcome.engine or None),
            duration_ms=outcome.duration_ms,
            proposal_ref=None if proposal_hash is None else self.trail.proposal_ref(tenant, proposal_hash),
        )

    def refused(self, call: PermittedCall | None, denied: Denied, running: Running | None = None) -> AuditEvent | None:
        """The event of a permit that let nothing run."""
        return event_of(
            "permit_refused",
            **({} if call is None else self._call(call)),
            decision="deny",
            reason=denied.audit_code,
            execution_id=None if running is None else running.execution_id,
        )

    def started(self, call: PermittedCall) -> tuple[Running, AuditEvent | None]:
        """The intent: from now on the effect may have begun."""
        running = Running(execution_id=os.urandom(16).hex(), started=time.perf_counter())
        return running, event_of("execution_started", **self._call(call), execution_id=running.execution_id)

    def ended(self, call: PermittedCall, running: Running, *, completed: bool) -> AuditEvent | None:
        """How it ended: the handler returned, or it raised or was interrupted."""
        return event_of(
            "execution_completed" if completed else "execution_failed",
            **self._call(call),
            execution_id=running.execution_id,
            duration_ms=(time.perf_counter() - running.started) * 1000.0,
        )

    def _call(self, call: PermittedCall) -> dict[str, Any]:
        return {
            **self._around(call.surroundings),
            **tool_facts(call.tool, call.tool.name),
            "request_id": call.question.request_id,
            "approval_id": call.approval_id,
            "proposal_ref": self.trail.proposal_ref(call.surroundings.tenant, call.question.proposal_hash),
        }

    @staticmethod
    def _around(around: Surroundings) -> dict[str, Any]:
        return {
            "request_id": around.request_id,
            "run_id": id_label(around.run_id),
            "call_id": id_label(around.call_id),
            "turn": around.turn,
            "agent_name": id_label(around.agent_name),
            "principal": around.principal,
        }

    def _code(self, code: str) -> str:
        return reason_label(code, self._codes)


def _bounded(text: str | None, longest: int) -> str | None:
    """What an engine says of itself, or its digest where it says too much."""
    return text if text is None or len(text) <= longest else digest_label(text)
