"""What operators do with approvals beside voting: settle unfinished effects, and remove stored arguments.

Each is done by a person whom the application has authenticated, leaves an entry in the access log, and an audit event
where the broker has a trail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.ballot import require_may_end
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent
from aioc_opa.errors import ApprovalNotFoundError, VoteRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.approval_audit import ApprovalAudit
    from aioc_opa.approvals.person import Person
    from aioc_opa.approvals.records import EffectIntent, EffectOutcome, UnfinishedEffect
    from aioc_opa.approvals.store import ApprovalStore


class Custody:
    """The part of `ApprovalBroker` that is for operators."""

    store: ApprovalStore
    _audit: ApprovalAudit

    def recoverable(self, tenant: str | None, older_than_seconds: float) -> Sequence[UnfinishedEffect]:
        """Effects that were intended so long ago and have no end: a crash, or a handler that still runs."""
        return self.store.unfinished(tenant, self.store.now_ms() - int(older_than_seconds * 1000))

    def settle(self, intent: EffectIntent, outcome: EffectOutcome, *, by: Person) -> None:
        """Write what `by` found out about an unfinished effect.

        The access log has it under the approval, or under the execution id of a call that needed none.

        Raises:
            VoteRefusedError: `by` does not belong to the tenant, or it cannot be recorded; nothing is written.
            ApprovalStoreError: the store cannot be used, or has no such intent.
        """
        _require_serves(by, intent.tenant)
        self._audit.intend(by.person_id, "settle", of=intent)
        action = f"settle {intent.execution_id} {outcome}"
        self.store.log_access(intent.tenant, intent.approval_id or intent.execution_id, by.person_id, action)
        self.store.finish(intent, outcome)
        self._audit.settled(intent, outcome, by.person_id)

    def purge(self, tenant: str | None, ended_before_ms: int, *, by: Person) -> int:
        """Remove the stored arguments of approvals that ended before; returns how many.

        Args:
            tenant: `records.NO_TENANT` for calls without one; None for all, by who serves every tenant.
            ended_before_ms: by the store's clock, milliseconds since 1970.
            by: who removes them.

        Raises:
            VoteRefusedError: `by` does not belong to the tenant, or it cannot be recorded; nothing is removed.
            ApprovalStoreError: the store cannot be used.
        """
        _require_serves(by, tenant)
        self._audit.intend(by.person_id, "purge", tenant=tenant)
        removed = self.store.purge_payloads(tenant, ended_before_ms, by=by.person_id)
        self._audit.removed(by.person_id, tenant=tenant, detail="purge")
        return removed

    def erase(self, tenant: str, approval_id: str, *, by: Person) -> None:
        """Remove the stored arguments of one approval now; an open one is dismissed.

        Raises:
            ApprovalNotFoundError: there is none in this tenant.
            VoteRefusedError: `by` does not belong to the tenant, may not dismiss an open one, or it cannot be recorded;
                nothing is removed.
            ApprovalStoreError: the store cannot be used.
        """
        record = self.store.get(tenant, approval_id, payload=False)
        if record is None:
            raise ApprovalNotFoundError("no such approval")
        _require_serves(by, tenant)
        if record.state in OPEN:  # what has ended is not open again by the next step
            require_may_end(record, by, ApprovalEvent.DISMISS)
        self._audit.intend(by.person_id, "erase", of=record)
        self.store.erase(tenant, approval_id, by=by.person_id)
        self._audit.removed(by.person_id, of=record, detail="erase")


def _require_serves(person: Person, tenant: str | None) -> None:
    if not person.serves(tenant):
        raise VoteRefusedError("tenant_not_allowed", "you do not belong to this tenant")
