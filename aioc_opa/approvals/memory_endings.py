"""How approvals of `MemoryApprovalStore` have ended. Used under its lock; nothing is ever taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aioc_opa.approvals.store_steps import REJECTED_BEFORE
from aioc_opa.core.approvals.states import OPEN, ApprovalState

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord


@dataclass(frozen=True, slots=True)
class _Ending:
    state: ApprovalState
    at_ms: int
    by: str
    reason: str | None


class MemoryEndings:
    """The end of each approval that has one, and the calls that were rejected in their runs."""

    def __init__(self) -> None:
        self._of_approval: dict[str, _Ending] = {}
        self._rejected: dict[tuple[str, str, str], _Ending] = {}

    def end(self, record: ApprovalRecord, target: ApprovalState, now: int, by: str, reason: str | None) -> None:
        """Keep how `record` ended; the caller has found it open."""
        self._of_approval[record.approval_id] = _Ending(target, now, by, reason)
        if target is ApprovalState.REJECTED:
            self._rejected[_call_of(record)] = _Ending(target, now, by, REJECTED_BEFORE)

    def rejected(self, tenant: str, run_id: str, proposal_hash: str) -> bool:
        """Whether this hash was rejected in this run."""
        return (tenant, run_id, proposal_hash) in self._rejected

    def standing(self, record: ApprovalRecord, now: int) -> ApprovalRecord:
        """`record` as it stands: its own end, a rejection of its call while it was open, or its expiry, then kept."""
        ending = self._of_approval.get(record.approval_id)
        if ending is None and record.state in OPEN:
            ending = self._rejected.get(_call_of(record))
            if record.expires_at_ms <= (now if ending is None else ending.at_ms):
                ending = _Ending(ApprovalState.EXPIRED, record.expires_at_ms, "expiry", None)
                self._of_approval[record.approval_id] = ending  # whatever the clock says later
        if ending is None:
            return record
        return replace(
            record, state=ending.state, ended_at_ms=ending.at_ms, ended_by=ending.by, end_reason=ending.reason
        )


def _call_of(record: ApprovalRecord) -> tuple[str, str, str]:
    return record.tenant, record.bindings.run_id, record.bindings.proposal_hash
