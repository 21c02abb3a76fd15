"""A permit: the right to run one judged call, once, soon, in this process, by the guard that issued it (design 3.5).

The permit itself is an empty token. What it stands for is kept by the guard's `PermitBook`, so that a permit
exposes nothing, and a copy of it (were one possible) would still stand for nothing.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from aioc_opa.access.budgets import Reservation
    from aioc_opa.call_request import Surroundings
    from aioc_opa.models.outcome import Question
    from aioc_opa.tool_registry import RegisteredTool

MAX_PERMIT_SECONDS: Final = 30.0
"""Seconds that a permit lives at most, by the monotonic clock; less when the decision's ``expiresAt`` is earlier."""


class Permit:
    """Opaque and single use. Cannot be copied, pickled or subclassed; give it to the guard that issued it."""

    __slots__ = ("__weakref__",)

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("Permit cannot be subclassed")

    def __repr__(self) -> str:
        return "<Permit>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # copy, deepcopy and pickle all come here.
        raise TypeError("a permit cannot be copied or pickled: it is the right to run one call in this process")


@dataclass(slots=True, kw_only=True)
class PermittedCall:
    """What a permit stands for: the very registration and object that were judged.

    Attributes:
        tool: the registration in force when the call was judged.
        parsed: the judged object.
        args_canonical_json: its canonical text then.
        question: hash and request id of what was asked.
        surroundings: what injected values may be made from.
        expires_at: monotonic seconds.
        process: id of the process that issued it.
        approval_id: the approval that is consumed just before the effect; None when the call needs none.
        reservation: what the access gate took from budgets.
    """

    tool: RegisteredTool
    parsed: object
    args_canonical_json: str
    question: Question
    surroundings: Surroundings
    expires_at: float
    process: int
    approval_id: str | None = None
    reservation: Reservation | None = None


class PermitBook:
    """The permits that one guard has issued and not yet redeemed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: WeakKeyDictionary[Permit, PermittedCall] = WeakKeyDictionary()

    def issue(self, call: PermittedCall) -> Permit:
        """A permit for `call`. Dropping the permit drops the right."""
        permit = Permit()
        with self._lock:
            self._open[permit] = call
        return permit

    def redeem(self, permit: object) -> PermittedCall | None:
        """What `permit` stands for, exactly once; None when it is used, late, foreign or no permit at all."""
        if type(permit) is not Permit:
            return None
        with self._lock:
            call = self._open.pop(permit, None)
        if call is None or call.process != os.getpid() or time.monotonic() >= call.expires_at:
            return None
        return call
