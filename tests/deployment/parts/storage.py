"""Object storage as OPA meets it: serves one file, notes the requests, and is the metadata server that gives tokens."""

from __future__ import annotations

import http.server
import json
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = "token-of-the-metadata-server"


class ObjectStorage:
    """A server of one object. `asked` has path and headers of every request."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        storage = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                storage.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                body = storage.content
                if "token" in self.path:
                    seconds = 3600 if "computeMetadata" in self.path else "3600"  # Google's, Azure's
                    body = json.dumps({"access_token": TOKEN, "expires_in": seconds, "token_type": "Bearer"}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def objects(self) -> list[tuple[str, Mapping[str, str]]]:
        """The requests for the bundle."""
        return [(path, headers) for path, headers in self.asked if "token" not in path]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
