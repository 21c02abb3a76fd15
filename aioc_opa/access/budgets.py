"""Budgets of step 1: calls and cost units of a run, cost units of an identity, and how long step 1 may take.

Everything rests on one atomic step, `BudgetLedger.reserve`. What is reserved is given back only if the handler was
never entered; a process that dies in between keeps it spent, which is the safe side.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from aioc_opa.access.details import Detail
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.tool_authorization import MAX_DEADLINE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

logger: Final = logging.getLogger("aioc_opa.access")

MAX_LIMIT: Final = 2**53 - 1


@runtime_checkable
class BudgetLedger(Protocol):
    """What has been spent, by key. Thread-safe; one that several processes share is safe between them too."""

    @property
    def blocks(self) -> bool:
        """Whether it can wait for I/O, and so is kept off the event loop."""
        ...

    def reserve(self, key: str, cost: int, limit: int) -> bool:
        """Add `cost` to what `key` has spent, in one atomic step, unless that would pass `limit`: then False."""
        ...

    def give_back(self, key: str, cost: int) -> None:
        """Take `cost` off what `key` has spent; never below zero."""
        ...


@runtime_checkable
class BatchBudgetLedger(BudgetLedger, Protocol):
    """A ledger that makes several reservations in one step: one commit instead of one for each."""

    def reserve_all(self, charges: Sequence[Charge]) -> int | None:
        """Make every charge and give None; or make none, and give the index of one that its limit refuses."""
        ...

    def give_back_all(self, charges: Sequence[Charge]) -> None:
        """Give every charge back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """Limits; None means that there is none.

    Attributes:
        deadline_seconds: how long step 1 may take, within the whole decision's deadline.
        calls_per_run: calls in one run.
        cost_per_run: cost units in one run.
        cost_per_identity: cost units of one identity in each window.
        window_seconds: length of a window; windows begin at multiples of it since 1970, by this host's clock.

    Raises:
        ConfigurationError: a limit is out of range.
    """

    deadline_seconds: float | None = None
    calls_per_run: int | None = None
    cost_per_run: int | None = None
    cost_per_identity: int | None = None
    window_seconds: int = 86_400

    def __post_init__(self) -> None:
        for name in ("calls_per_run", "cost_per_run", "cost_per_identity"):
            limit = getattr(self, name)
            if limit is not None and (type(limit) is not int or not 0 <= limit <= MAX_LIMIT):
                raise ConfigurationError(f"BudgetLimits: {name} must be an integer from 0, or None")
        if type(self.window_seconds) is not int or self.window_seconds < 1:
            raise ConfigurationError("BudgetLimits: window_seconds must be a positive integer")
        seconds = self.deadline_seconds
        if seconds is not None and (type(seconds) not in {int, float} or not 0 < seconds <= MAX_DEADLINE_SECONDS):
            raise ConfigurationError("BudgetLimits: deadline_seconds must be above 0 and at most 300, or None")

    @property
    def per_run(self) -> bool:
        """Whether a run has limits."""
        return self.calls_per_run is not None or self.cost_per_run is not None


@dataclass(frozen=True, slots=True)
class Charge:
    """One reservation to make. `detail` says which limit refused."""

    key: str
    cost: int
    limit: int
    detail: Detail


class Reservation:
    """What one call has reserved. Thread-safe."""

    __slots__ = ("_charges", "_ledger", "_lock")

    def __init__(self, ledger: BudgetLedger, charges: Iterable[Charge]) -> None:
        self._ledger: Final = ledger
        self._charges: list[Charge] | None = list(charges)
        self._lock: Final = threading.Lock()

    def release(self) -> None:
        """Give back, once, what was reserved. Only for a call whose handler was never entered.

        Never raises: what a ledger cannot take back stays spent, and a line in the log says so.
        """
        with self._lock:
            charges, self._charges = self._charges, None
        if not charges:
            return
        try:
            if isinstance(self._ledger, BatchBudgetLedger):
                self._ledger.give_back_all(charges)
                return
            for charge in charges:
                self._ledger.give_back(charge.key, charge.cost)
        except Exception as error:  # noqa: BLE001 - spent is the safe side
            logger.error("a reservation stays spent: %s", type(error).__name__)  # noqa: TRY400 - exception texts stay out of logs

    def release_elsewhere(self) -> None:
        """As `release`, for an event loop: in a thread where the ledger can wait for I/O."""
        if self._ledger.blocks:
            threading.Thread(target=self.release, name="aioc-opa-access-release").start()
        else:
            self.release()


class Budgets:
    """A ledger with limits.

    Args:
        ledger: where it is kept: `MemoryBudgetLedger`, or `SqlBudgetLedger` for several processes.
        limits: the limits.
        clock: seconds since 1970; for the windows of an identity.

    Raises:
        ConfigurationError: the ledger is none.
    """

    def __init__(self, ledger: BudgetLedger, limits: BudgetLimits, *, clock: Callable[[], float] = time.time) -> None:
        if not isinstance(ledger, BudgetLedger):
            raise ConfigurationError(f"Budgets needs a BudgetLedger; {type(ledger).__name__} is none")
        if type(limits) is not BudgetLimits:
            raise ConfigurationError("Budgets needs BudgetLimits")
        if getattr(ledger, "idle_seconds", limits.window_seconds) < limits.window_seconds:
            raise ConfigurationError("the ledger forgets before a window ends: raise its idle_seconds")
        self.ledger: Final = ledger
        self.limits: Final = limits
        self._batch: Final = ledger if isinstance(ledger, BatchBudgetLedger) else None
        self._clock: Final = clock

    def charges(self, *, tenant: str | None, identity: str, run_id: str, cost: int) -> list[Charge]:
        """What a call of `cost` units must reserve. Keys are digests: a ledger learns no name."""
        limits = self.limits
        charges = []
        if limits.calls_per_run is not None:
            charges.append(Charge(_key("calls", tenant, run_id), 1, limits.calls_per_run, Detail.CALLS_PER_RUN))
        if limits.cost_per_run is not None:
            charges.append(Charge(_key("cost", tenant, run_id), cost, limits.cost_per_run, Detail.COST_PER_RUN))
        if limits.cost_per_identity is not None:
            window = int(self._clock() // limits.window_seconds)
            key = _key("identity", tenant, identity, str(window))
            charges.append(Charge(key, cost, limits.cost_per_identity, Detail.COST_PER_IDENTITY))
        return charges

    def reserve(self, charges: list[Charge]) -> Reservation | Detail:
        """Make every charge, or none: the limit that refuses gives its detail.

        Raises:
            Exception: whatever the ledger raises; what was charged before is given back.
        """
        made: list[Charge] = []
        try:
            if self._batch is not None:
                refusing = self._batch.reserve_all(charges)
                return Reservation(self.ledger, charges) if refusing is None else charges[refusing].detail
            for charge in charges:
                if self.ledger.reserve(charge.key, charge.cost, charge.limit) is not True:
                    Reservation(self.ledger, made).release()
                    return charge.detail
                made.append(charge)
        except BaseException:
            Reservation(self.ledger, made).release()
            raise
        return Reservation(self.ledger, made)


class MemoryBudgetLedger:
    """A ledger for one process. Thread-safe.

    Args:
        idle_seconds: a key that nothing was reserved under for so long is forgotten, and starts anew.
        max_keys: past so many keys nothing new is reserved, which refuses.
    """

    blocks: Final = False

    def __init__(self, *, idle_seconds: float = 2 * 86_400.0, max_keys: int = 1_000_000) -> None:
        self.idle_seconds: Final = idle_seconds
        self._max: Final = max_keys
        self._lock: Final = threading.Lock()
        # By the time of the last reservation, oldest first: what is idle stands in front.
        self._spent: Final[dict[str, tuple[int, float]]] = {}

    def reserve(self, key: str, cost: int, limit: int) -> bool:
        """As `BudgetLedger.reserve`."""
        now = time.monotonic()
        with self._lock:
            self._forget(now)
            spent, _ = self._spent.get(key, (0, now))
            if cost < 0 or spent + cost > limit or (key not in self._spent and len(self._spent) >= self._max):
                return False
            self._spent.pop(key, None)
            self._spent[key] = (spent + cost, now)
            return True

    def give_back(self, key: str, cost: int) -> None:
        """As `BudgetLedger.give_back`."""
        with self._lock:
            if key in self._spent:
                spent, touched = self._spent[key]
                self._spent[key] = (max(0, spent - cost), touched)

    def _forget(self, now: float) -> None:
        while self._spent:
            oldest = next(iter(self._spent))
            if now - self._spent[oldest][1] < self.idle_seconds:
                return
            del self._spent[oldest]


def _key(*parts: str | None) -> str:
    return hashlib.sha256(canonical_text(list(parts)).encode()).hexdigest()
