"""From an endpoint to the addresses to connect to, within a deadline.

`socket.getaddrinfo` cannot be bounded: a resolver that does not answer holds its caller for many seconds. So it runs in
a daemon thread, which neither a caller nor the end of the process waits for; one lookup at a time for an engine, and
whoever comes meanwhile shares it. IP addresses and Unix sockets need none.
"""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.http_exchange import DeadlineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aioc_opa.engines.http_endpoint import Endpoint


class Address(NamedTuple):
    """What a socket connects to.

    Attributes:
        family: ``AF_INET``, ``AF_INET6`` or ``AF_UNIX``.
        sockaddr: in the form of its family.
    """

    family: int
    sockaddr: Any


def shares(addresses: Sequence[Address], deadline: Deadline) -> Iterator[tuple[Address, Deadline]]:
    """Each address with its share of what is left: one that swallows packets may not take the time of the others."""
    for left in range(len(addresses), 0, -1):
        yield addresses[-left], deadline if left == 1 else Deadline.after(deadline.remaining() / left)


class Resolver:
    """The addresses of one endpoint. Thread-safe."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._pending: Future[list[Address]] | None = None
        self._pid = os.getpid()

    def addresses(self, deadline: Deadline) -> list[Address]:
        """At least one address.

        Raises:
            DeadlineError: past the deadline.
            OSError: there is none.
        """
        known = self.known()
        if known is not None:
            return known
        try:
            return self.lookup().result(max(deadline.remaining(), 0))
        except TimeoutError as error:
            raise DeadlineError("while resolving the server's name") from error

    def known(self) -> list[Address] | None:
        """The addresses when no resolver has to be asked."""
        endpoint = self._endpoint
        if endpoint.unix_path is not None:
            return [Address(socket.AF_UNIX, endpoint.unix_path)]
        if endpoint.needs_resolver:
            return None
        family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
        return [Address(family, (endpoint.host, endpoint.port))]

    def lookup(self) -> Future[list[Address]]:
        """The lookup that is under way, or a new one."""
        if os.getpid() != self._pid:  # a forked child has neither the parent's lookup nor a free lock for certain
            self._lock = threading.Lock()
            self._pending = None
            self._pid = os.getpid()
        with self._lock:
            pending = self._pending
            if pending is None:
                pending = Future()
                pending.set_running_or_notify_cancel()  # from here on no waiter's cancellation can cancel it for others
                self._pending = pending
                threading.Thread(target=self._look_up, args=(pending,), name="aioc-opa-resolver", daemon=True).start()
        return pending

    def _look_up(self, pending: Future[list[Address]]) -> None:
        try:
            found = socket.getaddrinfo(self._endpoint.host, self._endpoint.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that IDNA refuses
            self._forget()
            pending.set_exception(OSError(f"the server's name cannot be resolved ({error})"))
        else:
            self._forget()
            pending.set_result([Address(family, sockaddr) for family, _, _, _, sockaddr in found])

    def _forget(self) -> None:
        with self._lock:
            self._pending = None
