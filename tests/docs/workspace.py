"""A copy of what the documents speak of, in which their commands are run: `aioc-opa` and `opa` are on PATH.

Addresses and keys that stand in the documents are made real here, and only here:

- ports 8181, 8282 and 9464 are free ones;
- a command that ends in ``&`` is a server: what follows waits until it answers;
- the files of `KEYS` lie in ``keys/``: a certificate authority, a client's certificate, a token, a signing key.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.conftest import ROOT
from tests.opa_process import free_port

if TYPE_CHECKING:
    from tests.docs.blocks import Block

COPIED: Final = ("rego", "deploy", "schemas", "examples", "docker-compose.yml", "tests/vectors", "tests/policies")
PORTS: Final = ("8181", "8282", "9464")
_SECONDS: Final = 120.0


class Workspace:
    """One document's sandbox. Servers that its commands started end with it."""

    def __init__(self, folder: Path, opa_binary: Path) -> None:
        self.folder = folder
        self.ports = {port: str(free_port()) for port in PORTS}
        self._sessions: list[int] = []
        for name in COPIED:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, target)
            else:
                shutil.copy(ROOT / name, target)
        _write_keys(folder / "keys")
        tools = folder.parent / f"{folder.name}-bin"
        tools.mkdir()
        (tools / "opa").symlink_to(opa_binary)
        self.environment = {
            "HOME": str(folder),
            "PATH": os.pathsep.join(
                (str(tools), str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")
            ),
            "AIOC_OPA_BIN": str(opa_binary),
            "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        }

    def run(self, block: Block) -> str:
        """Run a shell block and return what it wrote; a status that is not 0 fails."""
        log = self.folder.parent / f"{self.folder.name}.log"
        with log.open("w+b") as output:
            process = subprocess.Popen(
                ["bash", "-eu", "-o", "pipefail", "-c", self.real(block.text)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._sessions.append(process.pid)
            status = process.wait(_SECONDS)
        said = log.read_text(encoding="utf-8", errors="replace")
        assert status == 0, f"{block.place}: exit status {status}:\n{block.text}\n{said}"
        if block.text.rstrip().endswith("&"):
            for port in self.ports.values():
                if port in self.real(block.text):
                    self._wait(int(port), block, log)
        return said

    def real(self, text: str) -> str:
        for stated, port in self.ports.items():
            text = text.replace(stated, port)
        return text

    def _wait(self, port: int, block: Block, log: Path) -> None:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                assert time.monotonic() < end, f"{block.place}: no server came up: {log.read_text()}"
                time.sleep(0.02)
            else:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self._sessions:
            try:
                os.killpg(session, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _write_keys(folder: Path) -> None:
    folder.mkdir()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    client = authority.issue_cert("support-service")
    client.private_key_and_cert_chain_pem.write_to_path(str(folder / "client.pem"))
    server = authority.issue_cert("localhost", "127.0.0.1")
    server.cert_chain_pems[0].write_to_path(str(folder / "server.pem"))
    server.private_key_pem.write_to_path(str(folder / "server.key"))
    (folder / "opa-token").write_text("s3cret-token\n")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "signing.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    (folder / "signing.pub.pem").write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
