"""Waits that a real kernel and a real OpenSSL seldom ask for, on a scripted socket."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.http_exchange import DeadlineError
from aioc_opa.engines.http_socket import SocketConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


class Scripted:
    """A socket that raises each of `errors` once before it does what it is asked."""

    def __init__(self, sock: socket.socket, **errors: list[Exception]) -> None:
        self._sock = sock
        self._errors = errors

    def fileno(self) -> int:
        return self._sock.fileno()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            if self._errors.get(name):
                raise self._errors[name].pop(0)
            return getattr(self._sock, name)(*arguments)

        return call


@pytest.mark.parametrize(
    "errors",
    [
        {"send": [BlockingIOError(), ssl.SSLWantWriteError()]},
        {"recv": [BlockingIOError(), ssl.SSLWantReadError(), ssl.SSLWantWriteError()]},
    ],
)
def test_a_wake_up_for_nothing_is_waited_over(
    pair: tuple[socket.socket, socket.socket], errors: dict[str, list[Exception]]
) -> None:
    ours, theirs = pair
    theirs.sendall(ANSWER)
    connection = SocketConnection(Scripted(ours, **errors))  # type: ignore[arg-type]
    assert connection.exchange(b"question", 100, Deadline.after(5)).body == b"{}"
    assert theirs.recv(100) == b"question"


def test_a_renegotiating_peer_is_waited_for_while_sending(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(ANSWER)  # readable: what the wait needs
    connection = SocketConnection(Scripted(ours, send=[ssl.SSLWantReadError()]))  # type: ignore[arg-type]
    assert connection.exchange(b"question", 100, Deadline.after(5)).body == b"{}"


def test_a_question_larger_than_the_kernels_buffers_is_sent_in_parts(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    size = 4 * 1024 * 1024
    received: list[int] = []

    def read() -> None:
        while sum(received) < size:
            received.append(len(theirs.recv(65536)))
        theirs.sendall(ANSWER)

    reader = threading.Thread(target=read)
    reader.start()
    assert SocketConnection(ours).exchange(b"x" * size, 100, Deadline.after(10)).body == b"{}"
    reader.join()


def test_a_peer_that_does_not_read_is_a_timeout(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = pair
    with pytest.raises(DeadlineError, match="while sending"):
        SocketConnection(ours).exchange(b"x" * 4 * 1024 * 1024, 100, Deadline.after(0.1))


@pytest.mark.parametrize(
    "question",
    [
        lambda connection, deadline: connection._wait(select.POLLIN, deadline, "now"),
        lambda connection, deadline: connection.exchange(b"", 100, deadline),
    ],
)
def test_no_wait_begins_past_the_deadline(
    pair: tuple[socket.socket, socket.socket], question: Callable[[SocketConnection, Deadline], object]
) -> None:
    ours, theirs = pair
    theirs.sendall(ANSWER)
    with pytest.raises(DeadlineError):
        question(SocketConnection(ours), Deadline.after(-1))
