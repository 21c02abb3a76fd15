"""Around an effect that must happen at most once: recheck, durable intent, consume, run, and how it ended (design 3.5).

A process can die between any two of these steps. What the store says afterwards is never less than what may have
happened: an intent whose approval or claim was not used up did not run; one that was, may have.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.records import NO_TENANT, EffectIntent
from aioc_opa.approvals.refused_state import reason_of_state
from aioc_opa.core.reasons import Reason
from aioc_opa.judgement import RefusalError

if TYPE_CHECKING:
    from aioc_opa.approvals.records import EffectOutcome
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.permit import PermittedCall

logger: Final = logging.getLogger("aioc_opa.guard")


class Effects:
    """Begins and ends effects in one store. Blocks on it: an event loop calls it from a thread."""

    def __init__(self, store: ApprovalStore) -> None:
        self._store = store

    def begin(self, call: PermittedCall) -> EffectIntent:
        """Write the intent, then use up what the effect takes: the approval, the claim of a tool marked ``once``.

        Raises:
            RefusalError: the effect must not happen; the handler must not be entered.
        """
        around = call.surroundings
        intent = EffectIntent(
            execution_id=os.urandom(16).hex(),
            tenant=around.tenant or NO_TENANT,
            run_id=around.run_id,
            call_id=around.call_id,
            tool_name=call.tool.name,
            proposal_hash=call.question.proposal_hash,
            approval_id=call.approval_id,
        )
        try:
            self._store.intend(intent)
            refused = self._refused(intent, once=call.tool.once)
        except Exception as error:  # noqa: BLE001 - a store that fails, in whatever way: the handler is not entered
            raise RefusalError(Reason.APPROVAL_UNAVAILABLE, f"the store failed ({type(error).__name__})") from None
        if refused is not None:
            self.end(intent, "not_entered")
            raise RefusalError(refused, "the store refused")
        return intent

    def end(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """Write how it ended. Never raises: a done effect does not become a denial (design 3.4)."""
        try:
            self._store.finish(intent, outcome)
        except Exception as error:  # noqa: BLE001 - the effect has happened; an operator finds it with `approvals recover`
            logger.critical(
                "the end of execution %s of %s could not be written (%s): see `aioc-opa approvals recover`",
                intent.execution_id,
                intent.tool_name,
                type(error).__name__,
            )

    def _refused(self, intent: EffectIntent, *, once: bool) -> Reason | None:
        # The approval first: a call that is repeated burns it for nothing, for it has had its effect.
        if intent.approval_id is not None:
            moved = self._store.consume(intent)
            if moved.moved is not True:
                return Reason.APPROVAL_UNAVAILABLE if moved.record is None else reason_of_state(moved.record.state)
        if once and self._store.claim(intent) is not True:
            return Reason.CALL_ALREADY_EXECUTED
        return None


def needs_effects(call: PermittedCall) -> bool:
    """Whether running `call` takes anything that can be used up."""
    return call.approval_id is not None or call.tool.once
