"""Connections to OPA for one event loop: a bare `asyncio.Protocol` around the reader of `http_exchange`.

The pool keeps the rules of `pool`: places, the youngest idle connection first, and nothing doubtful is kept.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import time
from typing import TYPE_CHECKING, Final, TypeVar, cast

from aioc_opa.engines.http_exchange import DeadlineError, HttpFaultError, ResponseReader
from aioc_opa.engines.http_resolver import shares
from aioc_opa.engines.http_socket import BACKLOG_PAUSE_SECONDS, REFUSED, REFUSED_PAUSE_SECONDS, new_socket
from aioc_opa.engines.pool import MAX_IDLE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.http_endpoint import Endpoint
    from aioc_opa.engines.http_exchange import HttpResponse
    from aioc_opa.engines.http_resolver import Address, Resolver

_T = TypeVar("_T")
_BUFFER_BYTES: Final = 16 * 1024
_ENDED: Final = "the connection ended before the response was whole"


class AsyncConnection(asyncio.BufferedProtocol):
    """One connection. One exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._reader: ResponseReader | None = None
        self._waiter: asyncio.Future[HttpResponse] | None = None
        self._lost = False
        self.idle_since = 0.0
        self.reusable = False

    async def exchange(self, request: bytes, max_body_bytes: int, deadline: Deadline) -> HttpResponse:
        """Send `request` once and read its response. Sets `reusable`.

        Raises:
            DeadlineError: past the deadline.
            HttpFaultError: not a response that we take.
            OSError: the connection broke.
        """
        self.reusable = False
        if self._transport is None or self._lost:
            raise ConnectionResetError("the connection was lost before the request")
        waiter: asyncio.Future[HttpResponse] = self._loop.create_future()
        self._waiter = waiter
        self._reader = ResponseReader(max_body_bytes)
        timer = self._loop.call_later(max(deadline.remaining(), 0), self._expire)
        try:
            self._transport.write(request)
            response = await waiter
        finally:
            timer.cancel()
            self._reader = self._waiter = None
        self.reusable = response.reusable
        return response

    def is_stale(self) -> bool:
        """Whether it is lost, or something waits in the socket that the loop has not seen yet."""
        return self._lost or bool(self._poll.poll(0))

    def close(self) -> None:
        """Close at once: what is not sent yet is dropped."""
        self._lost = True
        if self._transport is not None:
            self._transport.abort()

    # asyncio.BufferedProtocol: a plain Protocol gets a new 256 KiB buffer for each read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The loop has connected us."""
        self._transport = cast("asyncio.Transport", transport)
        self._poll.register(transport.get_extra_info("socket"), select.POLLIN)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the signature of BufferedProtocol
        """Where the loop puts what it receives.

        A `memoryview`: asyncio's TLS fills slices of it, and a slice of a `bytearray` is a copy that nobody reads.
        """
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes of the response; when nothing was asked, bytes too many."""
        reader, waiter = self._reader, self._waiter
        if reader is None or waiter is None or waiter.done():
            self.close()
            return
        try:
            response = reader.feed(bytes(self._buffer[:nbytes]))
        except HttpFaultError as error:
            self.close()
            waiter.set_exception(error)
        else:
            if response is not None:
                waiter.set_result(response)

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has closed, or we have."""
        self._lost = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc if isinstance(exc, OSError) else HttpFaultError(_ENDED))

    def _expire(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(DeadlineError("while waiting for the response"))


class AsyncConnectionPool:
    """Idle connections and places of one loop.

    Args:
        loop: the loop.
        max_connections: places.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, max_connections: int) -> None:
        self._loop = loop
        self._places = asyncio.Semaphore(max_connections)
        self._idle: list[AsyncConnection] = []
        self._closed = False

    async def acquire(self, deadline: Deadline) -> AsyncConnection | None:
        """Take a place, and a connection or None when there is none to reuse. Give it back with `release`.

        Raises:
            DeadlineError: no place within the deadline, or it has passed already.
        """
        if deadline.remaining() <= 0:
            raise DeadlineError("before the question was sent")
        if self._places.locked():
            try:
                async with asyncio.timeout(deadline.remaining()):
                    await self._places.acquire()
            except TimeoutError:
                raise DeadlineError("while waiting for one of the engine's connections") from None
        else:
            await self._places.acquire()
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since < MAX_IDLE_SECONDS and not connection.is_stale():
                return connection
            connection.close()
        return None

    def release(self, connection: AsyncConnection | None) -> None:
        """Give the place back, and the connection, which is kept when it is reusable."""
        if connection is not None:
            if connection.reusable and not self._closed:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            else:
                connection.close()
        self._places.release()

    def close(self) -> None:
        """Close what is idle; what is in flight is closed when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    async def connect(self, endpoint: Endpoint, resolver: Resolver, deadline: Deadline) -> AsyncConnection:
        """A new connection; one more attempt when it is refused, because nothing has been sent yet.

        Raises:
            DeadlineError: past the deadline.
            OSError: it cannot be made.
        """
        try:
            return await self._connect_once(endpoint, resolver, deadline)
        except REFUSED:
            if deadline.remaining() <= REFUSED_PAUSE_SECONDS:
                raise
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)
        return await self._connect_once(endpoint, resolver, deadline)

    async def _connect_once(self, endpoint: Endpoint, resolver: Resolver, deadline: Deadline) -> AsyncConnection:
        addresses = resolver.known()
        if addresses is None:
            lookup = asyncio.wrap_future(resolver.lookup())
            addresses = await _within(deadline, lookup, "while resolving the server's name")
        failure: OSError | DeadlineError | None = None
        for address, share in shares(addresses, deadline):
            try:
                return await _within(share, self._open(address, endpoint), "while connecting")
            except (OSError, DeadlineError) as error:
                failure = error
        raise failure or OSError("the server's name has no address")

    async def _open(self, address: Address, endpoint: Endpoint) -> AsyncConnection:
        sock = new_socket(address)
        try:
            if address.family == socket.AF_UNIX:
                await _connect_unix(sock, address)
            else:
                await self._loop.sock_connect(sock, address.sockaddr)
            tls = endpoint.tls
            _, connection = await self._loop.create_connection(
                lambda: AsyncConnection(self._loop),
                sock=sock,
                ssl=tls,
                server_hostname=None if tls is None else endpoint.host,
            )
        except BaseException:
            sock.close()
            raise
        return connection


async def _connect_unix(sock: socket.socket, address: Address) -> None:
    """Connect. A full backlog is EAGAIN with nothing pending (unix(7)), which `sock_connect` takes for EINPROGRESS."""
    while code := sock.connect_ex(address.sockaddr):
        if code != errno.EAGAIN:
            raise OSError(code, os.strerror(code))
        await asyncio.sleep(BACKLOG_PAUSE_SECONDS)


async def _within(deadline: Deadline, awaitable: Awaitable[_T], during: str) -> _T:
    scope = asyncio.timeout(max(deadline.remaining(), 0))
    try:
        async with scope:
            return await awaitable
    except TimeoutError as error:  # the kernel's ETIMEDOUT is one too
        if scope.expired():
            raise DeadlineError(during) from error
        raise
