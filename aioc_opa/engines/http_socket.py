"""A blocking connection to OPA with one total deadline.

The socket itself is non-blocking, and waiting is `select.poll` with what is left of the deadline: a peer that drips a
byte a second cannot stretch it, as it can a timeout for each operation. In the usual case an exchange is four system
calls: poll (stale?), send, poll, recv.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.http_exchange import DeadlineError, ResponseReader
from aioc_opa.engines.http_resolver import shares

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.http_endpoint import Endpoint
    from aioc_opa.engines.http_exchange import HttpResponse
    from aioc_opa.engines.http_resolver import Address, Resolver

_RECEIVE_BYTES: Final = 64 * 1024

REFUSED: Final = (ConnectionRefusedError, FileNotFoundError)
"""Nobody listens. `FileNotFoundError`: a Unix socket between two lives of OPA."""

REFUSED_PAUSE_SECONDS: Final = 0.05
"""Before the one retry."""

BACKLOG_PAUSE_SECONDS: Final = 0.005


class SocketConnection:
    """One connection. Used by one thread at a time."""

    __slots__ = ("_poll", "_socket", "idle_since", "reusable")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self.idle_since = 0.0
        self.reusable = False

    def is_stale(self) -> bool:
        """Whether something waits to be read while nothing was asked: the peer's end, or bytes too many.

        Checked before anything is sent, so that a connection that OPA closed while it was idle (a restart) costs a
        new connection and not a denied call, and nothing has to be sent twice.
        """
        return bool(self._poll.poll(0)) or (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0)

    def exchange(self, request: bytes, max_body_bytes: int, deadline: Deadline) -> HttpResponse:
        """Send `request` once and read its response. Sets `reusable`.

        Raises:
            DeadlineError: past the deadline.
            HttpFaultError: not a response that we take.
            OSError: the connection broke.
        """
        self.reusable = False
        self._send(request, deadline)
        reader = ResponseReader(max_body_bytes)
        while True:
            data = self._receive(deadline)
            if not data:
                reader.end_of_file()
            response = reader.feed(data)
            if response is not None:
                self.reusable = response.reusable
                return response

    def close(self) -> None:
        """Close at once, without TLS's closing words: they could block, and there is nobody to say them to."""
        self._socket.close()

    def connect(self, address: Address, deadline: Deadline) -> None:
        """Connect within the deadline.

        Raises:
            DeadlineError: past the deadline.
            OSError: it cannot be made.
        """
        while (code := self._socket.connect_ex(address.sockaddr)) == errno.EAGAIN:
            # The backlog of a Unix socket is full, and nothing is pending (unix(7)).
            if deadline.remaining() <= BACKLOG_PAUSE_SECONDS:
                raise DeadlineError("while connecting")
            time.sleep(BACKLOG_PAUSE_SECONDS)
        if code == errno.EINPROGRESS:
            self._wait(select.POLLOUT, deadline, "while connecting")
            code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def start_tls(self, context: ssl.SSLContext, name: str, deadline: Deadline) -> None:
        """Shake hands and verify the peer, within the deadline.

        Raises:
            DeadlineError: past the deadline.
            OSError: no TLS, or not the peer that was asked for.
        """
        wrapped = context.wrap_socket(self._socket, server_hostname=name, do_handshake_on_connect=False)
        self._socket = wrapped
        while True:
            try:
                wrapped.do_handshake()
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN, deadline, "during the TLS handshake")
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT, deadline, "during the TLS handshake")
            else:
                return

    def _send(self, request: bytes, deadline: Deadline) -> None:
        rest = memoryview(request)
        while True:
            try:
                rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(select.POLLOUT, deadline, "while sending")
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN, deadline, "while sending")
            if not rest:
                return

    def _receive(self, deadline: Deadline) -> bytes:
        sock = self._socket
        while True:
            if not (isinstance(sock, ssl.SSLSocket) and sock.pending()):  # poll cannot see what is decrypted already
                self._wait(select.POLLIN, deadline, "while waiting for the response")
            try:
                return sock.recv(_RECEIVE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue  # a wake-up for nothing, or half a TLS record
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT, deadline, "while waiting for the response")

    def _wait(self, event: int, deadline: Deadline, during: str) -> None:
        remaining = deadline.remaining()
        if remaining <= 0:
            raise DeadlineError(during)
        poll = self._poll
        if event != select.POLLIN:
            poll = select.poll()
            poll.register(self._socket, event)
        if not poll.poll(math.ceil(remaining * 1000)):
            raise DeadlineError(during)


def connect(endpoint: Endpoint, resolver: Resolver, deadline: Deadline) -> SocketConnection:
    """A new connection; one more attempt when it is refused, because nothing has been sent yet.

    Raises:
        DeadlineError: past the deadline.
        OSError: it cannot be made.
    """
    try:
        return _connect_once(endpoint, resolver, deadline)
    except REFUSED:
        if deadline.remaining() <= REFUSED_PAUSE_SECONDS:
            raise
        time.sleep(REFUSED_PAUSE_SECONDS)
    return _connect_once(endpoint, resolver, deadline)


def _connect_once(endpoint: Endpoint, resolver: Resolver, deadline: Deadline) -> SocketConnection:
    failure: OSError | DeadlineError | None = None
    for address, share in shares(resolver.addresses(deadline), deadline):
        try:
            return _open(address, endpoint, share)
        except (OSError, DeadlineError) as error:
            failure = error
    raise failure or OSError("the server's name has no address")


def _open(address: Address, endpoint: Endpoint, deadline: Deadline) -> SocketConnection:
    connection = SocketConnection(new_socket(address))
    try:
        connection.connect(address, deadline)
        if endpoint.tls is not None:
            connection.start_tls(endpoint.tls, endpoint.host, deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def new_socket(address: Address) -> socket.socket:
    """A non-blocking socket for `address`, without Nagle's delay."""
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    sock.setblocking(False)
    if address.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock
