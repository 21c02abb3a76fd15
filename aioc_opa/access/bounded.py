"""Asking what may hang, raise or answer late, without waiting for it any longer than the deadline.

Rules:

1. Nothing that is asked holds the caller past the deadline: a coroutine runs in a task of its own, plain code in a
   thread of its own. What is late is cancelled where that is possible, and its answer is dropped.
2. Threads cannot be cancelled. So many may be left behind at once; then nothing more is asked.
3. What the other side raises is an `Exception` of ours here, also where it is a `BaseException`: an adapter's
   `CancelledError` is not the caller's cancellation. The caller's own passes, and ends the task.
4. `late` gets an answer that came too late, so that what was done meanwhile can be undone.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aioc_opa.engines.deadline import Deadline

T = TypeVar("T")

MAX_LEFT_BEHIND: Final = 64
"""Threads that may be left behind, waiting for something that hangs."""


class LateError(Exception):
    """No answer within the deadline."""


class BusyError(Exception):
    """Too many threads are left behind, or none can be started."""


class AskedRaisedError(Exception):
    """What was asked raised; `cause` is what."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class _Errand(Generic[T]):
    """One call in a thread of its own, and whether anybody still waits for it."""

    def __init__(self, owner: Threads, call: Callable[[], T], late: Callable[[T], None] | None) -> None:
        self._owner = owner
        self._call = call
        self._late = late
        self._lock = threading.Lock()
        self._abandoned = False
        self.done = threading.Event()
        self.notify: Callable[[], object] | None = None
        self.answer: T
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer = self._call()
        except BaseException as error:  # noqa: BLE001 - rule 3
            self.error = error
        with self._lock:
            self.done.set()
            abandoned = self._abandoned
            notify = self.notify
        if abandoned:
            self._owner.came_back()
            if self.error is None and self._late is not None:
                self._late(self.answer)
        elif notify is not None:
            notify()

    def abandon(self) -> bool:
        """Stop waiting; False when it has ended after all."""
        with self._lock:
            if self.done.is_set():
                return False
            self._abandoned = True
        self._owner.left_behind()
        return True

    def result(self) -> T:
        if self.error is not None:
            raise AskedRaisedError(self.error) from None
        return self.answer

    def drop(self) -> None:
        """The waiter is gone although the answer has come."""
        if self.error is None and self._late is not None:
            self._late(self.answer)


class Threads:
    """Runs plain code in threads of its own. Thread-safe."""

    def __init__(self, limit: int = MAX_LEFT_BEHIND) -> None:
        self._limit: Final = limit
        self._lock: Final = threading.Lock()
        self._left = 0

    def call(self, function: Callable[[], T], deadline: Deadline, late: Callable[[T], None] | None = None) -> T:
        """What `function` returns.

        Raises:
            LateError: not within the deadline.
            BusyError: it was not called.
            AskedRaisedError: it raised.
        """
        errand = self._start(function, late)
        try:
            errand.done.wait(max(0.0, deadline.remaining()))
        except BaseException:  # the keyboard: nobody waits any more
            self._give_up(errand)
            raise
        if errand.abandon():
            raise LateError
        return errand.result()

    async def call_async(
        self, function: Callable[[], T], deadline: Deadline, late: Callable[[T], None] | None = None
    ) -> T:
        """As `call`, from an event loop."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        errand = self._start(function, late, lambda: loop.call_soon_threadsafe(came.set))
        try:
            async with asyncio.timeout(max(0.0, deadline.remaining())):
                await came.wait()
        except TimeoutError:
            if errand.abandon():
                raise LateError from None
        except BaseException:  # the caller's cancellation
            self._give_up(errand)
            raise
        return errand.result()

    def left_behind(self) -> None:
        """A thread is not waited for any more."""
        with self._lock:
            self._left += 1

    def came_back(self) -> None:
        """It has ended."""
        with self._lock:
            self._left -= 1

    def _start(
        self, function: Callable[[], T], late: Callable[[T], None] | None, notify: Callable[[], object] | None = None
    ) -> _Errand[T]:
        with self._lock:
            if self._left >= self._limit:
                raise BusyError
        errand = _Errand(self, function, late)
        errand.notify = notify
        context = contextvars.copy_context()
        try:
            threading.Thread(target=context.run, args=(errand.run,), name="aioc-opa-access", daemon=True).start()
        except RuntimeError:
            raise BusyError from None
        return errand

    @staticmethod
    def _give_up(errand: _Errand[T]) -> None:
        if not errand.abandon():
            errand.drop()


_left_tasks: Final[set[asyncio.Future[Any]]] = set()


async def await_within(make: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
    """What the awaitable of `make` gives.

    Raises:
        LateError: not within the deadline; it was cancelled and is not waited for.
        AskedRaisedError: it raised, or there was nothing to await.
    """
    try:
        task = asyncio.ensure_future(make())
    except Exception as error:  # noqa: BLE001 - rule 3
        raise AskedRaisedError(error) from None
    try:
        await asyncio.wait({task}, timeout=max(0.0, deadline.remaining()))
    except BaseException:  # the caller's cancellation
        _leave(task)
        raise
    if not task.done():
        _leave(task)
        raise LateError
    try:
        return task.result()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - rule 3
        raise AskedRaisedError(error) from None


def _leave(task: asyncio.Future[T]) -> None:
    """Cancel without waiting: it may refuse to end. What it raises in the end is nobody's."""
    task.cancel()
    if task.done():
        _ended(task)
        return
    _left_tasks.add(task)
    task.add_done_callback(_ended)


def _ended(task: asyncio.Future[Any]) -> None:
    _left_tasks.discard(task)
    if not task.cancelled():
        task.exception()
