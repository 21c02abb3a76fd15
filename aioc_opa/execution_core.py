"""What the sync and the async guard share of steps 6 to 8: redeem, recheck, use up what the effect takes (design 2)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied
from aioc_opa.effects import Effects, needs_effects
from aioc_opa.guard_audit import GuardAudit
from aioc_opa.judgement import RefusalError
from aioc_opa.models.outcome import Denied
from aioc_opa.permit import PermitBook

if TYPE_CHECKING:
    from aioc_opa.approvals.records import EffectIntent, EffectOutcome
    from aioc_opa.guard_audit import Running
    from aioc_opa.guard_settings import GuardSettings
    from aioc_opa.permit import PermittedCall
    from aioc_opa.tool_registry import RegisteredTool

logger: Final = logging.getLogger("aioc_opa.guard")


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that may enter its handler: what the store and the audit know it by."""

    intent: EffectIntent | None
    running: Running | None


class ExecutionCore:
    """The permits of one guard, and the store that remembers effects. Thread-safe and task-safe."""

    def __init__(self, settings: GuardSettings) -> None:
        self.settings = settings
        self.permits = PermitBook()
        store = settings.effects
        if store is None and settings.approvals is not None:
            store = settings.approvals.store
        self.effects = None if store is None else Effects(store)
        self.audit = (
            None if settings.audit is None else GuardAudit(settings.audit, settings.codes, settings.audit_arguments)
        )

    def redeem(self, permit: object) -> PermittedCall | Denied:
        """Step 7: what the permit stands for, once."""
        call = self.permits.redeem(permit)
        if call is None:
            logger.warning("denied: %s", Reason.PERMIT_INVALID)
            return denied(Reason.PERMIT_INVALID, time.perf_counter(), stage="permit")
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
        return denied(reason, time.perf_counter(), stage="permit", question=call.question)

    def blocks(self, call: PermittedCall) -> bool:
        """Whether `start` and `finish` wait for a store or for the audit, and so are kept off an event loop."""
        return needs_effects(call) or (self.audit is not None and self.audit.trail.mode == "required")

    def start(self, call: PermittedCall) -> Begun | Denied:
        """All between the providers and the handler: recheck, durable intent, use up, recheck. Never raises.

        The order is design 3.5's. Where the last recheck comes after a store's step, it is made once more.
        """
        refused = self.ready(call)
        if refused is not None:
            return self._noted(call, refused)
        running = self._intended(call)
        if isinstance(running, Denied):
            return running
        intent = self.begin_effect(call)
        if isinstance(intent, Denied):
            return self._noted(call, intent, running)
        refused = None if intent is None and running is None else self.changed(call)
        if refused is None:
            return Begun(intent, running)
        self.end_effect(intent, "not_entered")
        return self._noted(call, refused, running)

    def finish(self, call: PermittedCall, begun: Begun, outcome: EffectOutcome) -> None:
        """Write how the run ended, for the store and for the audit. Never raises."""
        self.end_effect(begun.intent, outcome)
        if self.audit is None or begun.running is None:
            return
        if outcome == "not_entered":
            event = self.audit.refused(call, denied(Reason.PERMIT_INVALID, time.perf_counter()), begun.running)
        else:
            event = self.audit.ended(call, begun.running, completed=outcome == "returned")
        self.audit.record(event)

    def refused(self, call: PermittedCall | None, refusal: Denied) -> Denied:
        """`refusal`, of a permit, once the audit has it. For event loops: does not wait."""
        if self.audit is not None:
            self.audit.record_later(self.audit.refused(call, refusal))
        return refusal

    def _noted(self, call: PermittedCall, refusal: Denied, running: Running | None = None) -> Denied:
        if self.audit is not None:
            self.audit.record(self.audit.refused(call, refusal, running))
        return refusal

    def _intended(self, call: PermittedCall) -> Running | Denied | None:
        if self.audit is None:
            return None
        running, event = self.audit.started(call)
        try:
            self.audit.record_intent(event)
        except Exception as error:  # noqa: BLE001 - whatever the trail raises: nothing runs that it has not written
            logger.error("denied %s: %s (%s)", call.tool.name, Reason.AUDIT_UNAVAILABLE, type(error).__name__)  # noqa: TRY400 - no values
            return denied(Reason.AUDIT_UNAVAILABLE, time.perf_counter(), stage="permit", question=call.question)
        return running

    def begin_effect(self, call: PermittedCall) -> EffectIntent | Denied | None:
        """Use up what the effect takes; None when it takes nothing. Blocks on the store. Never raises."""
        if not needs_effects(call):
            return None
        try:
            if self.effects is None:
                raise RefusalError(Reason.APPROVAL_UNAVAILABLE, "this guard has no store")
            return self.effects.begin(call)
        except RefusalError as refusal:
            logger.warning("denied %s: %s: %s", call.tool.name, refusal.reason, refusal.detail)
            return denied(refusal.reason, time.perf_counter(), stage="permit", question=call.question)

    def end_effect(self, intent: EffectIntent | None, outcome: EffectOutcome) -> None:
        """Write how an effect ended, where one was begun. Blocks on the store. Never raises."""
        if intent is not None and self.effects is not None:
            self.effects.end(intent, outcome)

    def changed(self, call: PermittedCall) -> Denied | None:
        """The recheck once more, when something was waited for since; None when nothing has changed."""
        if unchanged(call.tool, call.parsed, call.args_canonical_json):
            return None
        logger.warning("denied %s: %s", call.tool.name, Reason.POLICY_MUTATED_ARGUMENTS)
        return denied(Reason.POLICY_MUTATED_ARGUMENTS, time.perf_counter(), stage="permit", question=call.question)

    def injected(self, call: PermittedCall) -> dict[str, Any]:
        """What the providers of injected context give, by parameter name; an async one gives an awaitable."""
        if not call.tool.inject:
            return {}
        invocation = call.surroundings.invocation(call.tool.name)
        return {name: provider(invocation) for name, provider in call.tool.inject.items()}

    def injection_failed(self, call: PermittedCall, error: Exception) -> Denied:
        """The deny for a provider of injected context that raised: the handler was not entered."""
        logger.error("denied %s: a provider of injected context raised %s", call.tool.name, type(error).__name__)
        return denied(Reason.PERMIT_INVALID, time.perf_counter(), stage="permit", question=call.question)


def unchanged(tool: RegisteredTool, parsed: object, args_canonical_json: str) -> bool:
    """Whether the judged object still has the canonical text that was judged. Equal texts, equal hashes."""
    try:
        return tool.schema.canonical_text(parsed) == args_canonical_json
    except Exception:  # noqa: BLE001 - an object that cannot be written any more has changed
        return False
