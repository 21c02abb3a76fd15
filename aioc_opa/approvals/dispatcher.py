"""Work that somebody else's call may not wait for: a bounded queue, one daemon thread, retries by the clock.

An item that has to be tried again waits by its own time; the others pass it. Nothing here survives the process: the
store has the approvals, and a lost notice is counted, never a lost decision.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
import time
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Item = TypeVar("Item")

_log: Final = logging.getLogger("aioc_opa.approvals")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCounts:
    """What became of the items of one process.

    Attributes:
        delivered: `deliver` is done with them.
        failed: `deliver` gave them up, or raised anything else.
        dropped: the queue was full or closed, or the time to flush ran out.
    """

    delivered: int = 0
    failed: int = 0
    dropped: int = 0


class GivenUpError(Exception):
    """`deliver` will not try this item again, and has said why."""


class BackgroundDispatcher(Generic[Item]):
    """Hands items to `deliver`, one at a time, in a daemon thread that the first item starts. Thread-safe.

    A forked child starts empty, with a thread of its own: what the parent had queued is the parent's to deliver.

    Args:
        deliver: called with an item and the number of this attempt, from 1; returns seconds until the next attempt, or
            None when it has got through; raises `GivenUpError` when it never will.
        capacity: items at once, those under way and those waiting for another attempt included.
        name: of the thread.

    Raises:
        ValueError: `capacity` is less than 1.
    """

    def __init__(self, deliver: Callable[[Item, int], float | None], *, capacity: int, name: str) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._deliver: Final = deliver
        self._capacity: Final = capacity
        self._name: Final = name
        self._closed = False
        self._start_empty()
        _DISPATCHERS.add(self)

    def _start_empty(self) -> None:
        """Also in a forked child, where another thread of the parent may have held the lock for ever."""
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, int, Item]] = []
        self._order = itertools.count()
        self._open = 0
        self._give_up_at: float | None = None
        self._counts = DeliveryCounts()
        self._thread: threading.Thread | None = None

    @property
    def counts(self) -> DeliveryCounts:
        """What became of the items so far, in this process."""
        with self._changed:
            return self._counts

    def submit(self, item: Item) -> bool:
        """Queue an item, without waiting for anything; False when it is dropped."""
        with self._changed:
            if self._closed or self._open >= self._capacity or not self._started():
                self._count(dropped=1)
                return False
            self._open += 1
            heapq.heappush(self._due, (time.monotonic(), next(self._order), 1, item))
            self._changed.notify_all()
            return True

    def close(self, timeout_seconds: float) -> bool:
        """Take no more items, and give those that wait so long to get through. Idempotent.

        Returns:
            Whether none had to be dropped for it.
        """
        give_up_at = time.monotonic() + timeout_seconds
        with self._changed:
            self._closed = True
            self._give_up_at = give_up_at
            in_time = [entry for entry in self._due if entry[0] <= give_up_at]
            late = len(self._due) - len(in_time)
            heapq.heapify(in_time)
            self._due = in_time
            self._open -= late
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._open, timeout_seconds)
            # An item in `deliver` right now may still get through; nobody waits to see, so it counts as dropped.
            left, self._open = self._open + late, 0
            self._due.clear()
            self._count(dropped=left)
            self._changed.notify_all()
            return not left

    def _started(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can be had, or the interpreter is going down
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while (job := self._next()) is not None:
            attempt, item = job
            try:
                again = self._deliver(item, attempt)
            except GivenUpError:
                self._done(failed=1)
            except BaseException as error:  # noqa: BLE001 - the thread serves the next item, whatever this one did
                # Its text can hold anything.
                _log.error("%s: an item failed: %s", self._name, type(error).__name__)
                self._done(failed=1)
            else:
                if again is None:
                    self._done(delivered=1)
                else:
                    self._wait_again(again, attempt + 1, item)

    def _next(self) -> tuple[int, Item] | None:
        """The next item that is due; None when closed and nothing is left."""
        with self._changed:
            while True:
                if not self._due:
                    if self._closed and not self._open:
                        return None
                    self._changed.wait()
                    continue
                due = self._due[0][0]
                wait = due - time.monotonic()
                if wait <= 0:
                    _, _, attempt, item = heapq.heappop(self._due)
                    return attempt, item
                self._changed.wait(min(wait, threading.TIMEOUT_MAX))

    def _done(self, **counts: int) -> None:
        with self._changed:
            if self._open:  # else `close` has counted it
                self._open -= 1
                self._count(**counts)
            self._changed.notify_all()

    def _wait_again(self, seconds: float, attempt: int, item: Item) -> None:
        due = time.monotonic() + seconds
        with self._changed:
            if not self._open:
                return
            if self._give_up_at is not None and due > self._give_up_at:
                self._open -= 1
                self._count(dropped=1)
                self._changed.notify_all()
                return
            heapq.heappush(self._due, (due, next(self._order), attempt, item))

    def _count(self, *, delivered: int = 0, failed: int = 0, dropped: int = 0) -> None:
        now = self._counts
        self._counts = replace(
            now, delivered=now.delivered + delivered, failed=now.failed + failed, dropped=now.dropped + dropped
        )


_DISPATCHERS: Final[weakref.WeakSet[BackgroundDispatcher[Any]]] = weakref.WeakSet()


def _start_empty_in_child() -> None:
    for dispatcher in list(_DISPATCHERS):
        dispatcher._start_empty()  # noqa: SLF001 - this module's own


os.register_at_fork(after_in_child=_start_empty_in_child)
