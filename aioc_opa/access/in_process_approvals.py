"""Approvals of step 1 for people who are reached from this process: a chat command, an admin page, a test.

States of a request: pending, then exactly one of approved, denied, expired or cancelled. The first decision in time
counts; a late, double or contradictory one changes nothing, and whoever gave it is told (Trussium's human-approval
contract). An approval is handed to the one call that waits for it and kept for nothing else.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.access.names import is_name
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.tool_authorization import ToolApprovalRequest, ToolApprovalResult

if TYPE_CHECKING:
    from collections.abc import Callable

Verdict = Literal["approved", "denied"]

MAX_SECONDS: Final = 10.0
"""A request is open no longer than this, whatever it says of itself."""

_HEARD_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class DecisionReceipt:
    """What became of a decision.

    Attributes:
        counted: whether it was the one that counts.
        code: ``counted``; or why not: ``already_approved``, ``already_denied``, ``expired``, ``cancelled``,
            ``unknown``, ``requester_may_not_decide``, ``invalid``.
    """

    counted: bool
    code: str


class _Pending:
    """One request that somebody waits for."""

    def __init__(self, request: ToolApprovalRequest, seconds: float) -> None:
        self.request: Final = request
        self.ends: Final = time.monotonic() + seconds
        self.verdict: Verdict | None = None
        self.by: str | None = None
        self.wake: Callable[[], object] = lambda: None


class InProcessApprovals:
    """Approval adapter, for plain code and for event loops. Thread-safe.

    Args:
        notify: called with each new request, in the caller's thread; must not block. What it raises denies.
        capacity: requests that may be pending at once; past it a new one is denied.
        remembered: ended requests that are remembered, to tell a late voter what became of them.

    Raises:
        ConfigurationError: `capacity` or `remembered` is not positive.
    """

    keeps_deadlines: Final = True

    def __init__(
        self,
        notify: Callable[[ToolApprovalRequest], object] | None = None,
        *,
        capacity: int = 1000,
        remembered: int = 10_000,
    ) -> None:
        if any(type(number) is not int or number < 1 for number in (capacity, remembered)):
            raise ConfigurationError("InProcessApprovals: capacity and remembered must be positive integers")
        self._notify: Final = notify
        self._capacity: Final = capacity
        self._remembered: Final = remembered
        self._lock: Final = threading.Lock()
        self._pending: Final[dict[str, _Pending]] = {}
        self._ended: Final[OrderedDict[str, str]] = OrderedDict()

    def pending(self) -> tuple[ToolApprovalRequest, ...]:
        """What waits now, oldest first."""
        now = time.monotonic()
        with self._lock:
            return tuple(one.request for one in self._pending.values() if one.verdict is None and now < one.ends)

    def decide(self, request_id: str, verdict: Verdict, by: str) -> DecisionReceipt:
        """Decide a pending request.

        Args:
            request_id: of `ToolApprovalRequest`.
            verdict: ``approved`` or ``denied``.
            by: who decides, as the application's authentication knows that person; not the requester.

        Returns:
            Whether it counted, and why not.
        """
        given: object = verdict
        if type(given) is not str or given not in {"approved", "denied"} or not is_name(by):
            return DecisionReceipt(counted=False, code="invalid")
        if type(request_id) is not str:
            return DecisionReceipt(counted=False, code="unknown")
        with self._lock:
            one = self._pending.get(request_id)
            if one is None:
                return DecisionReceipt(counted=False, code=self._ended.get(request_id, "unknown"))
            if one.verdict is not None:
                return DecisionReceipt(counted=False, code=f"already_{one.verdict}")
            if time.monotonic() >= one.ends:
                return DecisionReceipt(counted=False, code="expired")
            if by == one.request.identity:
                return DecisionReceipt(counted=False, code="requester_may_not_decide")
            one.verdict, one.by = verdict, by
            wake = one.wake
        wake()
        return DecisionReceipt(counted=True, code="counted")

    def request_approval_sync(self, request: ToolApprovalRequest) -> ToolApprovalResult:
        """Wait for a decision on `request` in this thread, until it expires."""
        came = threading.Event()
        one = self._open(request, came.set)
        if one is None:
            return ToolApprovalResult.answering(request, "denied", reason_code="too_many_pending")
        ended = "cancelled"
        try:
            self._tell(request)
            came.wait(max(0.0, one.ends - time.monotonic()))
            ended = "expired"
        finally:
            self._close(one, ended)
        return _result(one)

    async def request_approval(self, request: ToolApprovalRequest) -> ToolApprovalResult:
        """As `request_approval_sync`, without blocking the event loop. Cancelling it cancels the request."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        one = self._open(request, lambda: _wake(loop, came))
        if one is None:
            return ToolApprovalResult.answering(request, "denied", reason_code="too_many_pending")
        ended = "cancelled"
        try:
            self._tell(request)
            try:
                async with asyncio.timeout(max(0.0, one.ends - time.monotonic())):
                    await came.wait()
            except TimeoutError:
                pass
            ended = "expired"
        finally:
            self._close(one, ended)
        return _result(one)

    def _open(self, request: ToolApprovalRequest, wake: Callable[[], object]) -> _Pending | None:
        one = _Pending(request, _seconds(request))
        one.wake = wake
        with self._lock:
            known = request.request_id in self._pending or request.request_id in self._ended
            if known or len(self._pending) >= self._capacity:
                return None
            self._pending[request.request_id] = one
        return one

    def _tell(self, request: ToolApprovalRequest) -> None:
        if self._notify is not None:
            self._notify(request)

    def _close(self, one: _Pending, ended: str) -> None:
        """End it for good: what was decided by now is what counts."""
        with self._lock:
            del self._pending[one.request.request_id]
            self._ended[one.request.request_id] = ended if one.verdict is None else f"already_{one.verdict}"
            while len(self._ended) > self._remembered:
                self._ended.popitem(last=False)


def _result(one: _Pending) -> ToolApprovalResult:
    if one.verdict is None:
        return ToolApprovalResult.answering(one.request, "expired", reason_code="nobody_decided")
    code = f"{one.verdict}_by_person"
    return ToolApprovalResult.answering(one.request, one.verdict, reason_code=code, decided_by=one.by)


def _seconds(request: ToolApprovalRequest) -> float:
    """How long decisions are taken: a little less than it says that it is open, so that what counts is also heard."""
    opened, ends = datetime.fromisoformat(request.created_at), datetime.fromisoformat(request.expires_at)
    seconds = min(MAX_SECONDS, (ends - opened).total_seconds())
    return max(seconds / 2, seconds - _HEARD_SECONDS, 0.0)


def _wake(loop: asyncio.AbstractEventLoop, came: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(came.set)
    except RuntimeError:  # the loop is closed: nobody waits there any more
        return
