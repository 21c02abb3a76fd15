"""Servers that `aioc-opa doctor` looks at, and files that OPA fetches."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from socketserver import BaseRequestHandler


class _Refusing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    date = ""

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b'{"code":"unauthorized"}'
        self.send_response_only(401)
        self.send_header("Date", self.date or self.date_time_string())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._refuse()

    def do_POST(self) -> None:
        self._refuse()

    def do_PUT(self) -> None:
        self._refuse()

    def log_message(self, *_: object) -> None:
        """Nothing."""


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def refusing_server(date: str = "") -> Iterator[str]:
    """Says 401 to everything, at the time `date` (now when empty)."""
    with _running(type("_Refusing", (_Refusing,), {"date": date})) as url:
        yield url


@contextmanager
def files_served(folder: Path) -> Iterator[str]:
    """Static files."""
    with _running(partial(_Files, directory=str(folder))) as url:
        yield url


@contextmanager
def _running(handler: Callable[..., BaseRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
