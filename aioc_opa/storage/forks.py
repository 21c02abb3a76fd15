"""What becomes of open databases when the process forks.

SQLite keeps one table of locks a process. A child that inherits it believes in locks that only its parent holds, and
its writes can be lost (https://sqlite.org/howtocorrupt.html, 2.6). So no connection is open at that moment: a fork
waits for the step in progress, closes the connection, and each side opens its own when it next needs one. A child
for which that could not be done (it was forked inside a step) may use no SQLite database at all.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Forked(Protocol):
    """Something that holds connections."""

    def before_fork(self) -> bool:
        """Whether nothing is held any more that a child must not have."""
        ...

    def after_fork(self) -> None:
        """In the parent and in the child, when `before_fork` said yes."""
        ...

    def in_child(self) -> None:
        """In the child, always, and first."""
        ...


class Turn:
    """One thread at a time, and whether it is this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def take(self, seconds: float) -> bool:
        """Wait for the turn; False when it does not come, at once when this thread has it already."""
        me = threading.get_ident()
        if self._owner == me or not self._lock.acquire(timeout=seconds):
            return False
        self._owner = me
        return True

    def give(self) -> None:
        """Let the next one."""
        self._owner = None
        self._lock.release()


class _Forks(threading.local):
    """What the thread that forks has prepared; the child's only thread is that one."""

    def __init__(self) -> None:
        self.ready: list[Forked] = []
        self.others: list[Forked] = []


_OPEN: Final[weakref.WeakSet[Forked]] = weakref.WeakSet()
_FORKS: Final = _Forks()
_LOST: Final = threading.Event()


def watch(held: Forked) -> None:
    """From now on `held` is told of forks, as long as it lives."""
    _OPEN.add(held)


def lost() -> bool:
    """Whether this process was forked inside a step of SQLite, so that its memory has locks that it does not hold."""
    return _LOST.is_set()


def _before() -> None:
    _FORKS.ready, _FORKS.others = [], []
    for held in list(_OPEN):
        (_FORKS.ready if held.before_fork() else _FORKS.others).append(held)


def _in_parent() -> None:
    _each(_FORKS.ready, lambda held: held.after_fork())


def _in_child() -> None:
    if _FORKS.others:
        _LOST.set()
    _each([*_FORKS.ready, *_FORKS.others], lambda held: held.in_child())
    _each(_FORKS.ready, lambda held: held.after_fork())


def _each(some: list[Forked], step: Callable[[Forked], None]) -> None:
    for held in some:
        step(held)


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
