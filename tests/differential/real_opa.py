"""A real OPA that is given one policy after another, over a Unix socket."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

_START_SECONDS = 15.0


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


class PolicyRefusedError(Exception):
    """OPA does not compile the policy."""


class RealOpa:
    """`opa run --server`, alone on a socket in a private folder. Use as a context manager."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._folder = tempfile.TemporaryDirectory(prefix="aioc-opa-")
        self._socket = str(Path(self._folder.name) / "opa.sock")
        self._connection = _UnixConnection(self._socket)
        self._held: set[str] = set()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._binary, "run", "--server", "--addr", f"unix://{self._socket}", "--log-level", "error",
             "--skip-version-check"],
            stdin=subprocess.DEVNULL,
            env={},
        )  # fmt: skip
        limit = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > limit:
                self.__exit__()
                raise RuntimeError(f"{self._binary} did not start")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait(10)
        self._folder.cleanup()

    def use(self, modules: Mapping[str, str], data: Any = None) -> None:
        """Replace policy and data. Raises `PolicyRefusedError` when OPA does not compile the modules."""
        for name in self._held - set(modules):
            self._ask("DELETE", f"/v1/policies/{name}", None)
        self._held &= set(modules)
        self._ask("PUT", "/v1/data", json.dumps(data or {}).encode())
        for name, text in modules.items():
            status, body = self._ask("PUT", f"/v1/policies/{name}", text.encode())
            if status != 200:
                raise PolicyRefusedError(body.decode())
            self._held.add(name)

    def ask(self, path: str, body: bytes) -> tuple[str, Any]:
        """``("value", v)``, ``("undefined", None)`` or ``("error", text)``, with strict builtin errors."""
        status, answer = self._ask("POST", f"/v1/data/{path}?strict-builtin-errors=true", body)
        if status != 200:
            return "error", answer.decode()
        document = json.loads(answer)
        return ("value", document["result"]) if "result" in document else ("undefined", None)

    def _listens(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(self._socket)
        except OSError:
            return False
        return True

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        self._connection.request(method, path, body, {"Content-Type": "application/json"} if method != "PUT" else {})
        response = self._connection.getresponse()
        return response.status, response.read()
