"""Waiting for a decision, in line with the call: a finite time, outside the deadline of a decision (design 3.5).

A wait that runs out makes the request expire, so that nobody approves what nobody waits for; a wait that is cancelled
dismisses it. Looking again every so often costs a read; an event loop does it in a thread and sleeps in between.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker

logger: Final = logging.getLogger("aioc_opa.approvals")

_RAN_OUT = "the call stopped waiting"
_CANCELLED = "the waiting call was cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """How a wait ended.

    Attributes:
        state: of the approval; None when there is none any more.
        timed_out: whether the time ran out before anybody decided.
    """

    state: ApprovalState | None
    timed_out: bool = False


def wait_for_decision(broker: ApprovalBroker, tenant: str, approval_id: str, seconds: float) -> Waited:
    """Block until the approval is no longer pending, at most `seconds`.

    Raises:
        ApprovalStoreError: the store cannot be used; the request stays as it is.
    """
    until = time.monotonic() + seconds
    try:
        while True:
            state = _state(broker, tenant, approval_id)
            if state is not ApprovalState.PENDING:
                return Waited(state=state)
            left = until - time.monotonic()
            if left <= 0:
                return _ran_out(broker, tenant, approval_id)
            time.sleep(min(left, broker.poll_seconds))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        _dismissed(broker, tenant, approval_id)
        raise


async def wait_for_decision_async(broker: ApprovalBroker, tenant: str, approval_id: str, seconds: float) -> Waited:
    """As `wait_for_decision`, without holding the event loop.

    Raises:
        ApprovalStoreError: the store cannot be used; the request stays as it is.
    """
    until = time.monotonic() + seconds
    try:
        while True:
            state = await asyncio.to_thread(_state, broker, tenant, approval_id)
            if state is not ApprovalState.PENDING:
                return Waited(state=state)
            left = until - time.monotonic()
            if left <= 0:
                return await asyncio.to_thread(_ran_out, broker, tenant, approval_id)
            await asyncio.sleep(min(left, broker.poll_seconds))
    except asyncio.CancelledError:
        # Shielded: whoever cancels twice does not wait for the write, and it is made all the same.
        await asyncio.shield(asyncio.to_thread(_dismissed, broker, tenant, approval_id))
        raise


def _dismissed(broker: ApprovalBroker, tenant: str, approval_id: str) -> None:
    """Dismiss a request that nobody waits for any more. Never raises: the cancellation is what the caller must see."""
    try:
        broker.give_up(tenant, approval_id, ApprovalEvent.DISMISS, _CANCELLED)
    except Exception as error:  # noqa: BLE001 - the request stays pending until it expires
        logger.error("a request whose wait was cancelled stays pending (%s)", type(error).__name__)  # noqa: TRY400 - no values


def _state(broker: ApprovalBroker, tenant: str, approval_id: str) -> ApprovalState | None:
    record = broker.store.get(tenant, approval_id, payload=False)
    return None if record is None else record.state


def _ran_out(broker: ApprovalBroker, tenant: str, approval_id: str) -> Waited:
    moved = broker.give_up(tenant, approval_id, ApprovalEvent.EXPIRE, _RAN_OUT)
    state = None if moved.record is None else moved.record.state
    return Waited(state=state, timed_out=moved.moved)
