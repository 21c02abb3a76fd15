"""Telling a notifier without being at its mercy: what it raises is logged, and one that hangs is not waited for.

A notifier must not block (`notifications.Notifier`), and the vote that it is told of counts already. One that blocks
all the same must not hold up a call's deadline or the next vote.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.dispatcher import BackgroundDispatcher
from aioc_opa.approvals.notifications import DEFAULT_CAPACITY
from aioc_opa.core.approvals.states import ApprovalState

if TYPE_CHECKING:
    from aioc_opa.approvals.notifications import Notifier
    from aioc_opa.models.approval_notice import ApprovalNotice

PATIENCE_SECONDS: Final = 1.0
"""How long one notice may hold up the step that it is about. Those behind it are not waited for at all."""


@dataclass(frozen=True, slots=True)
class _Told:
    notice: ApprovalNotice
    over: threading.Event = field(default_factory=threading.Event)


class BoundedNotices:
    """Tells one notifier, in order, from a thread of its own. Thread-safe.

    Args:
        notifier: what the application gave.
        patience_seconds: see `PATIENCE_SECONDS`.
    """

    def __init__(self, notifier: Notifier, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._notifier: Final = notifier
        self._patience: Final = patience_seconds
        self._last: _Told | None = None
        self._dispatcher: Final = BackgroundDispatcher(
            self._tell, capacity=DEFAULT_CAPACITY, name="aioc-opa-approval-notices"
        )

    def tell(self, notice: ApprovalNotice) -> None:
        """Tell of a new request, or of one that is pending no more. Never raises."""
        told = _Told(notice)
        last, self._last = self._last, told
        behind = last is not None and not last.over.is_set()
        if self._dispatcher.submit(told) and not behind:
            told.over.wait(self._patience)

    def _tell(self, told: _Told, _attempt: int) -> None:
        try:
            if told.notice.state is ApprovalState.PENDING:
                self._notifier.approval_requested(told.notice)
            else:
                self._notifier.approval_decided(told.notice)
        finally:
            told.over.set()
