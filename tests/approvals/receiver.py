"""A real receiver of webhooks on a loopback address, which answers as a test scripts it, and 200 after that."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    Answer = int | Callable[["_Handler"], None]


@dataclass(frozen=True)
class Arrived:
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)


class Receiver:
    """`url` to post to; `arrived`, all that came whole; `answers`, what is said next."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.answers: deque[Answer] = deque(answers)
        self.arrived: list[Arrived] = []
        self.over = threading.Event()
        self._changed = threading.Condition()
        handler = type("Handler", (_Handler,), {"receiver": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign] # a sender that hangs up is no news
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hooks?team=a"

    def note(self, arrived: Arrived) -> Answer:
        with self._changed:
            self.arrived.append(arrived)
            self._changed.notify_all()
            return self.answers.popleft() if self.answers else 200

    def wait_for(self, count: int) -> list[Arrived]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.arrived) >= count, 20)
            return list(self.arrived)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.receiver.note(Arrived(self.path, dict(self.headers.items()), body))
        if callable(answer):
            answer(self)
        else:
            self.say(answer)

    def say(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def hang(handler: _Handler) -> None:
    handler.receiver.over.wait(20)


def drip(handler: _Handler) -> None:
    """A head that never ends, a byte at a time: no single read takes long."""
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not handler.receiver.over.wait(0.02):
            handler.wfile.write(b"x")


def cut(handler: _Handler) -> None:
    handler.connection.close()
