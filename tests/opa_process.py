"""A real `opa run --server` for tests: on a free TCP port or a Unix socket, from files given as text.

    with OpaProcess(opa_binary, tmp_path, policies={"p.rego": "package p\n…"}) as opa:
        engine = OpaServerEngine(opa.url)

`restart()` stops it and starts it again at the same address. What it said is in `opa.log()`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

START_SECONDS = 20.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class OpaProcess:
    """One server.

    Args:
        binary: the `opa` of the `opa_binary` fixture.
        folder: a folder for its files; a short path when `unix` is set.
        policies: Rego files to write below `folder`/policy and load, by relative path.
        data: merged into `data`, through one `data.json`.
        paths: more files, folders or bundles to load.
        arguments: more command line arguments.
        unix: listen on a Unix socket in `folder`.
        host: of the TCP address.
        tls: the arguments make it speak TLS; only changes `url` and how readiness is seen.
    """

    def __init__(
        self,
        binary: Path,
        folder: Path,
        *,
        policies: Mapping[str, str] | None = None,
        data: Mapping[str, Any] | None = None,
        paths: Sequence[Path] = (),
        arguments: Sequence[str] = (),
        unix: bool = False,
        host: str = "127.0.0.1",
        tls: bool = False,
    ) -> None:
        self.binary = binary
        self.folder = folder
        self.arguments = list(arguments)
        self.tls = tls
        self.host = host
        self.port = 0 if unix else free_port()
        self.socket_path = folder / "opa.sock" if unix else None
        self.policy_folder = folder / "policy"
        self.process: subprocess.Popen[bytes] | None = None
        self._log_path = folder / "opa.log"
        self._paths = list(paths)
        if policies or data:
            for name, text in (policies or {}).items():
                path = self.policy_folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            if data:
                self.policy_folder.mkdir(parents=True, exist_ok=True)
                (self.policy_folder / "data.json").write_text(json.dumps(data))
            self._paths.append(self.policy_folder)

    @property
    def url(self) -> str:
        """For an engine's `url`."""
        if self.socket_path is not None:
            return f"unix:{self.socket_path}"
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def start(self) -> Self:
        address = f"unix://{self.socket_path}" if self.socket_path is not None else f"{self.host}:{self.port}"
        command = [str(self.binary), "run", "--server", "--addr", address, "--skip-version-check"]
        command += ["--log-level", "error", *self.arguments, *map(str, self._paths)]
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]})
        end = time.monotonic() + START_SECONDS
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"opa did not start: {self.log()}")
            time.sleep(0.01)
        return self

    def stop(self, signal_number: int = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(signal_number)
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        self.stop()
        if self.socket_path is not None:
            self.socket_path.unlink(missing_ok=True)
        self.start()

    def log(self) -> str:
        return self._log_path.read_text() if self._log_path.exists() else ""

    def _listens(self) -> bool:
        try:
            if self.socket_path is not None:
                with socket.socket(socket.AF_UNIX) as sock:
                    sock.connect(str(self.socket_path))
                    sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    return sock.recv(5) == b"HTTP/"
            with socket.create_connection((self.host, self.port), timeout=1) as sock:
                if self.tls:  # the handshake may end in a demand for our certificate; that it talks TLS is enough
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                    context.check_hostname = False
                    context.verify_mode = ssl.CERT_NONE
                    context.wrap_socket(sock).close()
                    return True
                sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return sock.recv(5) == b"HTTP/"
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
