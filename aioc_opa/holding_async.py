"""`hold` for coroutines: a call that is cancelled while its request is being made leaves none that nobody knows of."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.states import ApprovalEvent
from aioc_opa.holding import hold

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.guard_core import Attempt
    from aioc_opa.models.outcome import Denied, Suspended

logger: Final = logging.getLogger("aioc_opa.guard")

_CANCELLED: Final = "the call was cancelled while its request was being made"


async def hold_async(attempt: Attempt, suspended: Suspended, broker: ApprovalBroker) -> Suspended | Denied:
    """As `hold`, in a thread. Cancelled, it dismisses the request that it has made; one that was there stays.

    Raises:
        asyncio.CancelledError: as for any coroutine.
    """
    holding = _Holding(attempt, suspended, broker)
    try:
        return await asyncio.to_thread(holding.run)
    except asyncio.CancelledError:
        holding.cancel()
        raise


class _Holding:
    """Of the thread that makes the request and the cancellation, whichever is last dismisses it."""

    def __init__(self, attempt: Attempt, suspended: Suspended, broker: ApprovalBroker) -> None:
        self._attempt: Final = attempt
        self._suspended: Final = suspended
        self._broker: Final = broker
        self._turn: Final = threading.Lock()
        self._made: str | None = None
        self._cancelled = False

    def run(self) -> Suspended | Denied:
        new: list[str] = []
        outcome = hold(self._attempt, self._suspended, self._broker, made=new.append)
        with self._turn:
            self._made = new[0] if new else None
            late = self._cancelled and self._made is not None
        if late:
            self._dismiss()
        return outcome

    def cancel(self) -> None:
        with self._turn:
            self._cancelled = True
            there = self._made is not None
        if there:
            # Of the event loop's own thread, which must not wait for a store.
            threading.Thread(target=self._dismiss, name="aioc-opa-cancelled-request").start()

    def _dismiss(self) -> None:
        bound = self._attempt.surroundings.tenant or ""
        try:
            self._broker.give_up(bound, str(self._made), ApprovalEvent.DISMISS, _CANCELLED)
        except Exception as error:  # noqa: BLE001 - it stays pending until it expires
            logger.error("a request of a cancelled call stays pending (%s)", type(error).__name__)  # noqa: TRY400 - no values
