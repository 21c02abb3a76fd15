"""What the log says of each approval: when it was asked for, who voted what, how it ended and whether it ran."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.core.audit_report.tallies import Tallies
from aioc_opa.core.audit_report.timeline import milliseconds_between
from aioc_opa.core.audit_report.waits import Waits

if TYPE_CHECKING:
    from aioc_opa.core.audit_report.tallies import Top
    from aioc_opa.core.audit_report.waits import WaitSummary
    from aioc_opa.models.audit_event import AuditEvent

MAX_FOLLOWED: Final = 20_000
MAX_VOTERS: Final = 32

ENDS: Final = ("revoked", "dismissed", "expired", "rejected", "approved")
"""What an approval is called, by the first of these that it came to: approved and then revoked is revoked."""

STATES: Final = ("used", *ENDS, "pending")
"""``used``: an execution began under it. ``pending``: the log has no decision."""

_USES: Final = frozenset({"execution_started", "execution_completed", "execution_failed"})


@dataclass(slots=True)
class Approval:
    """One approval.

    Attributes:
        approval_id: its id.
        tool: that it is for.
        identity: of the principal whose call it is.
        tenant: of the call.
        requested_at: RFC 3339; None when the request is not among the records.
        votes: verdict by person, the first `MAX_VOTERS`.
        more_votes: how many there are beyond those.
        moves: when it came to a state of `ENDS`.
        used_at: when an execution began under it.
    """

    approval_id: str
    tool: str | None = None
    identity: str | None = None
    tenant: str | None = None
    requested_at: str | None = None
    votes: dict[str, str] = field(default_factory=dict)
    more_votes: int = 0
    moves: dict[str, str] = field(default_factory=dict)
    used_at: str | None = None

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if self.used_at is not None:
            return "used"
        return next((end for end in ENDS if end in self.moves), "pending")

    @property
    def decided_at(self) -> str | None:
        """When people had decided: approved or rejected."""
        return self.moves.get("approved") or self.moves.get("rejected")

    @property
    def waited_ms(self) -> int | None:
        """From the request to the decision, milliseconds."""
        if self.requested_at is None or self.decided_at is None:
            return None
        return milliseconds_between(self.requested_at, self.decided_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSummary:
    """All approvals of a period.

    Attributes:
        states: how many in each of `STATES`.
        waits: from request to decision.
        voters: by person; kinds are approved and rejected.
        latest: approvals in full, the latest first.
        total: how many there are.
        given_up: of those, how many had to be let go of before the end: what came later may count as another one.
    """

    states: dict[str, int]
    waits: WaitSummary
    voters: Top
    latest: tuple[Approval, ...]
    total: int
    given_up: int


class ApprovalLedger:
    """Takes events in any order.

    Args:
        capacity: approvals that are followed at a time; the one that came up first is let go of for another.
    """

    def __init__(self, capacity: int = MAX_FOLLOWED) -> None:
        self._capacity: Final = capacity
        self._followed: dict[str, Approval] = {}
        self._voters: Final = Tallies(2)
        self._waits: Final = Waits()
        self._states = dict.fromkeys(STATES, 0)
        self._given_up = 0

    def take(self, event: AuditEvent) -> None:
        """Take an event, if it is about an approval."""
        if event.approval_id is None:
            return
        approval = self._approval(event.approval_id)
        approval.tool = approval.tool or event.tool_name
        approval.identity = approval.identity or event.identity
        approval.tenant = approval.tenant or event.tenant
        if event.kind == "tool_policy" and event.decision == "approval_required":
            approval.requested_at = min(approval.requested_at or event.at, event.at)
        elif event.kind == "approval_vote" and event.decision in ("approved", "rejected"):
            for voter in event.voters:
                self._voters.add(voter, 0 if event.decision == "approved" else 1)
                if voter in approval.votes or len(approval.votes) < MAX_VOTERS:
                    approval.votes[voter] = event.decision
                else:
                    approval.more_votes += 1
        elif event.kind == "approval_ended" and event.decision in ENDS:
            approval.moves[event.decision] = min(approval.moves.get(event.decision, event.at), event.at)
        elif event.kind in _USES:
            approval.used_at = min(approval.used_at or event.at, event.at)

    def summary(self, *, top: int, listed: int) -> ApprovalSummary:
        """Of all so far.

        Args:
            top: voters that are named.
            listed: approvals that are listed.
        """
        states, waits = dict(self._states), deepcopy(self._waits)
        for approval in self._followed.values():
            states[approval.state] += 1
            if approval.waited_ms is not None:
                waits.add(approval.waited_ms)
        latest = sorted(
            self._followed.values(), key=lambda one: (one.requested_at or "", one.approval_id), reverse=True
        )
        return ApprovalSummary(
            states=states,
            waits=waits.summary(),
            voters=self._voters.top(top),
            latest=tuple(latest[:listed]),
            total=sum(states.values()),
            given_up=self._given_up,
        )

    def _approval(self, approval_id: str) -> Approval:
        found = self._followed.get(approval_id)
        if found is None:
            if len(self._followed) >= self._capacity:
                first = self._followed.pop(next(iter(self._followed)))
                self._given_up += 1
                self._states[first.state] += 1
                if first.waited_ms is not None:
                    self._waits.add(first.waited_ms)
            found = self._followed[approval_id] = Approval(approval_id)
        return found
