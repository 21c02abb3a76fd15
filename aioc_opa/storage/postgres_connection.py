"""A connection of psycopg on which nothing is waited for longer than `ANSWER_SECONDS`.

The server's own limits (`postgres_engine`) end what is slow, and libpq's keepalives notice a machine that is gone. A
server whose processes are stopped does neither: the kernel takes what is sent to it, and nobody answers. psycopg waits
for that without an end.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator

ANSWER_SECONDS: Final = 12.0
"""Longer than what the server ends by itself (10 s), so that its own words come first."""


class BoundedConnection(psycopg.Connection[Any]):
    """Gives up and closes itself where the server does not answer: what was asked may have happened."""

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """As in psycopg, for `ANSWER_SECONDS` at most.

        Raises:
            psycopg.OperationalError: no answer; the connection is closed.
        """
        return super().wait(self._bounded(gen), *arguments, **options)

    def _bounded(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Passes on what `steps` waits for, until the time is over; psycopg looks several times a second."""
        end = time.monotonic() + ANSWER_SECONDS
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= end:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server does not answer")
                wanted = steps.send(ready)
        except StopIteration as done:
            return done.value
