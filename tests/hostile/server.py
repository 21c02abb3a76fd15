"""A local server on raw sockets that answers like OPA, until a test scripts a fault for the next question."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

JSON_HEADER = b"Content-Type: application/json\r\n"


class Exchange:
    """One question on one connection, for a fault to answer as it likes."""

    def __init__(self, server: HostileServer, sock: socket.socket, question: dict[str, Any]) -> None:
        self.server = server
        self.socket = sock
        self.question = question

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def respond(self, body: bytes, *, status: str = "200 OK", headers: bytes = JSON_HEADER) -> None:
        self.send(b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status.encode(), headers, len(body), body))

    def decision(self, **changes: Any) -> dict[str, Any]:
        """What an honest policy that allows everything says."""
        echoes = {key: self.question.get(key) for key in ("proposalHash", "requestId", "kind")}
        return {"decision": "allow", "reason": "allowed", "reasons": [], **echoes, **changes}

    def answer(self, **changes: Any) -> bytes:
        return json.dumps({"result": self.decision(**changes), "provenance": {"version": "1.22.4"}}).encode()

    def wait(self, seconds: float | None = None) -> bool:
        """Do nothing until the test is over, or for a while; True when it is over."""
        return self.server.over.wait(seconds)


def honest(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer())
    return True


class HostileServer:
    """`next_fault` is used for one question; a fault that returns True keeps the connection.

    Attributes:
        url: for an engine.
        questions: the `input` of every question that arrived whole.
        connections: how many were accepted.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.questions: list[dict[str, Any]] = []
        self.connections = 0
        self.bytes_sent = 0
        self.over = threading.Event()
        self.faults: deque[Callable[[Exchange], bool | None]] = deque()
        self.silent_accepts = 0
        self._tls = tls
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def listen(self) -> None:
        """Until this is called, connections are refused."""
        self._listener.listen(64)
        self._start(self._accept)

    def next_fault(self, fault: Callable[[Exchange], bool | None]) -> None:
        self.faults.append(fault)

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(10)

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(sock)
            if self.silent_accepts:
                self.silent_accepts -= 1
            else:
                self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError):
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._sockets.append(sock)
            with sock, sock.makefile("rb") as stream:
                while (question := _read_question(stream)) is not None:
                    self.questions.append(question)
                    fault = self.faults.popleft() if self.faults else honest
                    if not fault(Exchange(self, sock, question)):
                        return


def _read_question(stream: Any) -> dict[str, Any] | None:
    """The `input` of a decision request, or {} of one without a body; None at the end of the connection."""
    if not stream.readline():
        return None
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        return {}
    body = stream.read(length)
    return json.loads(body)["input"] if len(body) == length else None
