"""Keep-alive connections for threads: at most so many questions in flight, and never a doubtful connection.

1. A connection comes back only after a whole response; after a deadline, a fault or an interrupt it is closed.
2. One that has become readable while idle, or was idle for long, is closed before anything is sent on it.
3. Whoever finds all places taken waits, at most until the deadline.
4. A forked child starts with nothing: two processes on one connection would read each other's answers.
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.http_exchange import DeadlineError

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.http_socket import SocketConnection

MAX_IDLE_SECONDS: Final = 60.0
"""Firewalls and load balancers forget a silent connection without telling, the common ones after minutes."""


class ConnectionPool:
    """Idle connections, the youngest first, and places. Thread-safe without a lock: both containers are atomic.

    Args:
        max_connections: places.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._closed = False
        self._fill()
        _POOLS.add(self)

    def acquire(self, deadline: Deadline) -> SocketConnection | None:
        """Take a place, and a connection or None when there is none to reuse. Give it back with `release`.

        Raises:
            DeadlineError: no place within the deadline, or it has passed already.
        """
        remaining = deadline.remaining()
        if remaining <= 0:
            raise DeadlineError("before the question was sent")
        try:
            self._places.get(timeout=remaining)
        except Empty:
            raise DeadlineError("while waiting for one of the engine's connections") from None
        try:
            return self._reuse()
        except BaseException:  # an interrupt may not cost a place for ever
            self._places.put(None)
            raise

    def release(self, connection: SocketConnection | None) -> None:
        """Give the place back, and the connection, which is kept when it is reusable."""
        if connection is not None:
            if connection.reusable:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
                if self._closed:  # asked after the append, so that a close between the two cannot miss it
                    self.close()
            else:
                connection.close()
        self._places.put(None)

    def close(self) -> None:
        """Close what is idle; what is in flight is closed when it comes back."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _reuse(self) -> SocketConnection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            fresh = False
            try:
                fresh = time.monotonic() - connection.idle_since < MAX_IDLE_SECONDS and not connection.is_stale()
            finally:
                if not fresh:
                    connection.close()
            if fresh:
                return connection

    def _fill(self) -> None:
        self._idle: deque[SocketConnection] = deque()
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._max_connections):
            self._places.put(None)

    def forget(self) -> None:
        """In a forked child: close the child's copies, which the parent's connections survive, and start anew."""
        for connection in self._idle:
            connection.close()
        self._fill()


_POOLS: Final[weakref.WeakSet[ConnectionPool]] = weakref.WeakSet()


def _forget_in_child() -> None:
    for pool in list(_POOLS):
        pool.forget()


os.register_at_fork(after_in_child=_forget_in_child)
