"""A bundle server of static files, as object storage is one, and an OPA that polls it every second."""

from __future__ import annotations

import functools
import http.server
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SECONDS = 20.0
POLICY_PATHS = ("aioc/tool_policy", "aioc/lib")


class BundleServer:
    """Serves the files of a folder. `stop` and `start` keep the address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port = 0
        self._server: http.server.ThreadingHTTPServer | None = None

    def start(self) -> Self:
        handler = functools.partial(_Quiet, directory=str(self.folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def put(self, name: str, content: bytes) -> None:
        draft = self.folder / f".{name}"
        draft.write_bytes(content)
        draft.replace(self.folder / name)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def opa_configuration(folder: Path, port: int, bundles: Sequence[str], public_key: Path) -> list[str]:
    """The arguments for an `opa` that takes these signed bundles, written to a file below `folder`."""
    polling = {"min_delay_seconds": 1, "max_delay_seconds": 1}
    configuration = {
        "services": {"bundles": {"url": f"http://127.0.0.1:{port}"}},
        "bundles": {
            name: {
                "service": "bundles",
                "resource": f"{name}.tar.gz",
                "polling": polling,
                "signing": {"keyid": "publisher"},
            }
            for name in bundles
        },
        "keys": {"publisher": {"algorithm": "RS256", "key": public_key.read_text()}},
        "status": {"prometheus": False, "console": True},
    }
    file = folder / "opa-config.json"
    file.write_text(json.dumps(configuration))
    return ["--config-file", str(file)]


def signing_key(folder: Path, name: str = "signing") -> tuple[Path, Path]:
    """A new key: the files of its private and its public half."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def until(holds: Callable[[], Any]) -> Any:
    """Wait until `holds` gives something true, and return it."""
    end = time.monotonic() + SECONDS
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"never became true: {holds}")
        time.sleep(0.05)
