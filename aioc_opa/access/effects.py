"""The three things that the gate's steps wait for, and how each is carried out: two thin edges over one core.

An `Effect` comes out of `steps.Steps.decide`; what it gave, or a `Failure`, goes back in. Nothing but the caller's own
cancellation and the keyboard is raised here.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from aioc_opa.access.adapters import NoAnswerError, keeps_deadlines, offers
from aioc_opa.access.bounded import AskedRaisedError, BusyError, LateError, Threads, await_within
from aioc_opa.access.budgets import Reservation
from aioc_opa.access.details import Detail
from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.engines.deadline import Deadline

METHODS: Final = {
    "policy": ("authorize", "authorize_sync"),
    "approval": ("request_approval", "request_approval_sync"),
}
"""Names of an adapter's method for event loops and of the one for plain code."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something to wait for.

    Attributes:
        kind: what is asked: the policy adapter, the approval adapter, or the budgets.
        target: the adapter; or the function that reserves.
        argument: the request; None for the budgets.
        until: when to stop waiting.
    """

    kind: Literal["policy", "approval", "budget"]
    target: Any
    argument: object
    until: Deadline


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer. `late` when it is for lack of time; `code` is for the event."""

    code: str
    late: bool = False


def carry_out(effect: Effect, threads: Threads) -> object:
    """Wait in this thread. The answer, or a `Failure`."""
    try:
        if effect.kind == "budget":
            if not effect.argument:
                return effect.target()
            return threads.call(effect.target, effect.until, _undo)
        call = _plain(effect)
        if call is None:
            return Failure(Detail.ADAPTER_NOT_USABLE)
        if keeps_deadlines(effect.target):
            return call()
        return threads.call(call, effect.until)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever an adapter or a ledger raises is a refusal
        return _failure(error)


async def carry_out_async(effect: Effect, threads: Threads) -> object:
    """Wait without blocking the event loop. The answer, or a `Failure`."""
    try:
        if effect.kind == "budget":
            if not effect.argument:
                return effect.target()
            return await threads.call_async(effect.target, effect.until, _undo)
        name, _ = METHODS[effect.kind]
        if offers(effect.target, name, asynchronous=True):
            return await await_within(lambda: getattr(effect.target, name)(effect.argument), effect.until)
        call = _plain(effect)
        if call is None:
            return Failure(Detail.ADAPTER_NOT_USABLE)
        return await threads.call_async(call, effect.until)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        return _failure(error)


def _plain(effect: Effect) -> Callable[[], object] | None:
    _, name = METHODS[effect.kind]
    if not offers(effect.target, name, asynchronous=False):
        return None
    return lambda: getattr(effect.target, name)(effect.argument)


def _failure(error: BaseException) -> Failure:
    cause = error.cause if isinstance(error, AskedRaisedError) else error
    if isinstance(cause, (LateError, TimeoutError)):
        return Failure(Detail.DEADLINE, late=True)
    if isinstance(cause, BusyError):
        return Failure(Detail.ADAPTER_BUSY)
    if isinstance(cause, NoAnswerError) and type(cause.reason) is Reason:
        return Failure(cause.reason.value, late=cause.reason is Reason.POLICY_TIMEOUT)
    return Failure(Detail.ADAPTER_FAILED)


def _undo(made: object) -> None:
    """A reservation that came too late: the handler will not be entered."""
    if type(made) is Reservation:
        made.release()
