"""The effects that `MemoryApprovalStore` knows of. Used under its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.records import UnfinishedEffect
from aioc_opa.approvals.store_steps import is_final, require_texts
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import EffectIntent, EffectOutcome


class MemoryEffects:
    """Intents, what they used up, and how they ended; nothing is ever taken back."""

    def __init__(self) -> None:
        self._intents: dict[str, tuple[EffectIntent, int]] = {}
        self._consumed: dict[str, str] = {}
        self._claimed: dict[tuple[str, str, str], str] = {}
        self._ends: dict[str, EffectOutcome] = {}

    def intend(self, intent: EffectIntent, now: int) -> None:
        """Keep an intent.

        Raises:
            ApprovalStoreError: its execution id was used before.
        """
        require_texts(*(getattr(intent, name) for name in type(intent).__slots__))
        if intent.execution_id in self._intents:
            raise ApprovalStoreError("an intent of this execution is stored already")
        self._intents[intent.execution_id] = (intent, now)

    def consume(self, approval_id: str, intent: EffectIntent) -> None:
        """Keep that `intent` used up an approval, which the caller has found approved.

        Raises:
            ApprovalStoreError: there is no such intent, or it has used one up already.
        """
        self._require(intent)
        if intent.execution_id in self._consumed.values():
            raise ApprovalStoreError("this execution has consumed another approval")
        self._consumed[approval_id] = intent.execution_id

    def claim(self, intent: EffectIntent) -> bool:
        """Claim the call of `intent`; False when it was claimed before.

        Raises:
            ApprovalStoreError: there is no such intent.
        """
        self._require(intent)
        call = (intent.tenant, intent.run_id, intent.call_id)
        if call in self._claimed:
            return False
        self._claimed[call] = intent.execution_id
        return True

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """Keep the first end that is known; ``unknown`` gives way to it.

        Raises:
            ApprovalStoreError: there is no such intent in this tenant.
        """
        self._require(intent)
        known = self._ends.get(intent.execution_id)
        if known is None or not is_final(known):
            self._ends[intent.execution_id] = outcome

    def unfinished(self, tenant: str | None, before_ms: int) -> Sequence[UnfinishedEffect]:
        """See `ApprovalStore.unfinished`."""
        return [
            UnfinishedEffect(intent=intent, intended_at_ms=at_ms, may_have_run=self._may_have_run(intent))
            for intent, at_ms in self._intents.values()
            if at_ms < before_ms and intent.execution_id not in self._ends and tenant in {None, intent.tenant}
        ]

    def state_of(self, approval_id: str) -> tuple[ApprovalState, EffectOutcome | None] | None:
        """The state and the outcome of an approval that was consumed; None for one that was not."""
        execution_id = self._consumed.get(approval_id)
        if execution_id is None:
            return None
        outcome = self._ends.get(execution_id)
        if outcome is None:
            return ApprovalState.CONSUMED, None
        return (ApprovalState.COMPLETED if is_final(outcome) else ApprovalState.OUTCOME_UNKNOWN), outcome

    def _may_have_run(self, intent: EffectIntent) -> bool:
        if intent.approval_id is not None:
            return self._consumed.get(intent.approval_id) == intent.execution_id
        return self._claimed.get((intent.tenant, intent.run_id, intent.call_id)) == intent.execution_id

    def _require(self, intent: EffectIntent) -> None:
        kept = self._intents.get(intent.execution_id)
        if kept is None or kept[0].tenant != intent.tenant:
            raise ApprovalStoreError("no such intent is stored in this tenant")
