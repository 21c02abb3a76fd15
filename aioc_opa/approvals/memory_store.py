"""`MemoryApprovalStore`: approvals that live as long as the process. For tests and trying out.

Nothing of it is durable, so a crash forgets what was consumed, together with everything that could be consumed again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from aioc_opa.approvals.memory_effects import MemoryEffects
from aioc_opa.approvals.memory_endings import MemoryEndings
from aioc_opa.approvals.records import RUNTIME, AccessEntry, ApprovalRecord, Moved, Opened
from aioc_opa.approvals.store_steps import ENDING_EVENTS, ERASED, bounded, full_cap, require_texts, with_vote
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent, ApprovalState, next_state
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from aioc_opa.approvals.records import (
        EffectIntent,
        EffectOutcome,
        NewApproval,
        PendingCaps,
        UnfinishedEffect,
    )
    from aioc_opa.models.approval_vote_statement import SignedVote


class MemoryApprovalStore:
    """An `ApprovalStore` for one process. Thread-safe; a fork copies it."""

    def __init__(self) -> None:
        self._step = threading.Lock()
        self._closed = False
        self._records: dict[str, ApprovalRecord] = {}
        self._effects = MemoryEffects()
        self._endings = MemoryEndings()
        self._access: list[AccessEntry] = []

    @property
    def name(self) -> str:
        """``"memory"``."""
        return "memory"

    def now_ms(self) -> int:
        """See `ApprovalStore.now_ms`."""
        with self._alone() as now:
            return now

    def open(self, new: NewApproval, caps: PendingCaps) -> Opened:
        """See `ApprovalStore.open`."""
        require_texts(new.tenant, new.approval_id, new.bindings.run_id, new.bindings.identity, new.reason, new.payload)
        bindings = new.bindings
        with self._alone() as now:
            if self._endings.rejected(new.tenant, bindings.run_id, bindings.proposal_hash):
                return Opened(kind="rejected")
            mine = [self._standing(record, now) for record in self._records.values() if record.tenant == new.tenant]
            for record in mine:
                if record.state in OPEN and record.bindings == bindings:
                    return Opened(kind="existing", record=record)
            pending = [record.bindings for record in mine if record.state is ApprovalState.PENDING]
            cap = full_cap(
                caps,
                run=Counter(other.run_id for other in pending)[bindings.run_id],
                principal=Counter(other.identity for other in pending)[bindings.identity],
                tenant=len(pending),
            )
            if cap is not None:
                return Opened(kind="full", cap=cap)
            if new.approval_id in self._records:
                raise ApprovalStoreError("an approval of this id is stored already")
            record = ApprovalRecord(
                approval_id=new.approval_id,
                tenant=new.tenant,
                state=ApprovalState.PENDING,
                bindings=bindings,
                terms=new.terms,
                requesters=new.requesters,
                reason=new.reason,
                reasons=new.reasons,
                created_at_ms=now,
                expires_at_ms=now + new.terms.ttl_seconds * 1000,
                payload=new.payload,
            )
            self._records[new.approval_id] = record
            return Opened(kind="opened", record=record)

    def get(self, tenant: str, approval_id: str, *, payload: bool = True) -> ApprovalRecord | None:
        """See `ApprovalStore.get`."""
        with self._alone() as now:
            record = self._find(tenant, approval_id, now)
        return record if payload else _without_payload(record)

    def find(
        self,
        tenant: str | None,
        states: Collection[ApprovalState],
        limit: int,
        *,
        unreadable: Callable[[str], None] | None = None,  # noqa: ARG002 - nobody edits a row here
    ) -> Sequence[ApprovalRecord]:
        """See `ApprovalStore.find`."""
        with self._alone() as now:
            all_of_them = (self._standing(record, now) for record in self._records.values())
            found = [r for r in all_of_them if r.state in states and tenant in {None, r.tenant}]
        return [replace(record, payload=None) for record in found[: bounded(limit)]]

    def vote(
        self,
        tenant: str,
        approval_id: str,
        vote: SignedVote,
        effect: Callable[[ApprovalRecord], ApprovalEvent | None],
    ) -> Moved:
        """See `ApprovalStore.vote`."""
        require_texts(vote.statement)
        with self._alone() as now:
            record = self._find(tenant, approval_id, now)
            if record is None or record.state is not ApprovalState.PENDING:
                return Moved(moved=False, record=record)
            voted = with_vote(record, vote)
            event = effect(voted)
            target = None if event is None else next_state(record.state, event)
            later = _now_ms()
            if later >= record.expires_at_ms or (event is not None and target is None):
                return Moved(moved=False, record=self._standing(record, later))
            others = self._open_of_call(record, later) if target is ApprovalState.REJECTED else []
            self._records[approval_id] = voted
            if target is not None:
                self._move(voted, target, later, "votes", None)
            return Moved(
                moved=target is not None,
                record=self._standing(self._records[approval_id], later),
                with_it=tuple(replace(self._standing(other, later), payload=None) for other in others),
            )

    def end(self, tenant: str, approval_id: str, event: ApprovalEvent, by: str, reason: str) -> Moved:
        """See `ApprovalStore.end`."""
        if event not in ENDING_EVENTS:
            raise ValueError("an approval is ended by EXPIRE, DISMISS or REVOKE")
        require_texts(by, reason)
        with self._alone() as now:
            record = self._find(tenant, approval_id, now)
            target = None if record is None else next_state(record.state, event)
            if record is None or target is None:
                return Moved(moved=False, record=_without_payload(record))
            self._move(record, target, now, by, reason)
            return Moved(moved=True, record=_without_payload(self._find(tenant, approval_id, now)))

    def intend(self, intent: EffectIntent) -> None:
        """See `ApprovalStore.intend`; nothing is on disk."""
        with self._alone() as now:
            self._effects.intend(intent, now)

    def consume(self, intent: EffectIntent) -> Moved:
        """See `ApprovalStore.consume`."""
        with self._alone() as now:
            approval_id = intent.approval_id
            record = None if approval_id is None else self._find(intent.tenant, approval_id, now)
            if record is None or record.state is not ApprovalState.APPROVED:
                return Moved(moved=False, record=_without_payload(record))
            if self._endings.rejected(intent.tenant, intent.run_id, intent.proposal_hash):
                return Moved(moved=False, record=replace(record, state=ApprovalState.REJECTED, payload=None))
            self._effects.consume(record.approval_id, intent)
            self._move(record, ApprovalState.CONSUMED, now, "runtime", None)
            return Moved(moved=True, record=_without_payload(self._find(record.tenant, record.approval_id, now)))

    def claim(self, intent: EffectIntent) -> bool:
        """See `ApprovalStore.claim`."""
        with self._alone():
            return self._effects.claim(intent)

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """See `ApprovalStore.finish`."""
        with self._alone():
            self._effects.finish(intent, outcome)

    def unfinished(self, tenant: str | None, before_ms: int) -> Sequence[UnfinishedEffect]:
        """See `ApprovalStore.unfinished`."""
        with self._alone():
            return self._effects.unfinished(tenant, before_ms)

    def log_access(self, tenant: str, approval_id: str, who: str, action: str) -> None:
        """See `ApprovalStore.log_access`."""
        require_texts(tenant, approval_id, who, action)
        with self._alone() as now:
            self._access.append(AccessEntry(approval_id=approval_id, tenant=tenant, who=who, action=action, at_ms=now))

    def access_log(self, tenant: str | None, approval_id: str | None) -> Sequence[AccessEntry]:
        """See `ApprovalStore.access_log`."""
        with self._alone():
            return [
                entry
                for entry in self._access
                if tenant in {None, entry.tenant} and approval_id in {None, entry.approval_id}
            ]

    def purge_payloads(self, tenant: str | None, ended_before_ms: int, *, by: str = RUNTIME) -> int:
        """See `ApprovalStore.purge_payloads`."""
        require_texts(by)
        with self._alone() as now:
            over = [
                record
                for record in (self._standing(kept, now) for kept in self._records.values())
                if record.payload is not None
                and tenant in {None, record.tenant}
                and record.ended_at_ms is not None
                and record.ended_at_ms < ended_before_ms
            ]
            for record in over:
                self._remove(record, by, "purge", now)
            return len(over)

    def erase(self, tenant: str, approval_id: str, *, by: str = RUNTIME) -> bool:
        """See `ApprovalStore.erase`."""
        require_texts(by)
        with self._alone() as now:
            record = self._find(tenant, approval_id, now)
            if record is None:
                return False
            if record.state in OPEN:
                self._move(record, ApprovalState.DISMISSED, now, by, ERASED)
            self._remove(record, by, "erase", now)
            return True

    def close(self) -> None:
        """See `ApprovalStore.close`."""
        self._closed = True

    @contextmanager
    def _alone(self) -> Iterator[int]:
        with self._step:
            if self._closed:
                raise ApprovalStoreError("the store is closed")
            yield _now_ms()

    def _find(self, tenant: str, approval_id: str, now: int) -> ApprovalRecord | None:
        record = self._records.get(approval_id)
        return None if record is None or record.tenant != tenant else self._standing(record, now)

    def _standing(self, record: ApprovalRecord, now: int) -> ApprovalRecord:
        standing = self._endings.standing(record, now)
        used = self._effects.state_of(record.approval_id)
        return standing if used is None else replace(standing, state=used[0], outcome=used[1])

    def _open_of_call(self, record: ApprovalRecord, now: int) -> list[ApprovalRecord]:
        """The other open requests of the same call in the same run."""
        call = (record.tenant, record.bindings.run_id, record.bindings.proposal_hash)
        return [
            other
            for other in self._records.values()
            if other.approval_id != record.approval_id
            and (other.tenant, other.bindings.run_id, other.bindings.proposal_hash) == call
            and self._standing(other, now).state in OPEN
        ]

    def _remove(self, record: ApprovalRecord, by: str, action: str, now: int) -> None:
        kept = self._records[record.approval_id]
        self._records[record.approval_id] = replace(kept, payload=None)
        self._access.append(
            AccessEntry(approval_id=record.approval_id, tenant=record.tenant, who=by, action=action, at_ms=now)
        )

    def _move(self, record: ApprovalRecord, target: ApprovalState, now: int, by: str, reason: str | None) -> None:
        self._records[record.approval_id] = replace(self._records[record.approval_id], state=target)
        if target not in OPEN:
            self._endings.end(record, target, now, by, reason)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _without_payload(record: ApprovalRecord | None) -> ApprovalRecord | None:
    return None if record is None else replace(record, payload=None)
