"""A real OPA for the bench, on TCP and on a Unix socket at once."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent


def opa_binary() -> str:
    path = os.environ.get("AIOC_OPA_BIN") or str(ROOT / ".opa" / (ROOT / ".opa-version").read_text().strip() / "opa")
    if not Path(path).is_file():
        raise SystemExit(f"bench: no opa at {path}; run `make bench`, which finds or builds it, or set AIOC_OPA_BIN")
    return path


@contextmanager
def opa_server(policy: Path) -> Iterator[tuple[int, Path]]:
    """Port and Unix socket of an OPA that serves `policy`."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="aioc-bench-") as folder:
        unix = Path(folder) / "opa.sock"
        command = [opa_binary(), "run", "--server", "--addr", f"127.0.0.1:{port}", "--addr", f"unix://{unix}"]
        command += ["--log-level", "error", "--skip-version-check", "--ignore", "*_test.rego", "-b", str(policy)]
        process = subprocess.Popen(command)
        try:
            _wait(port, process)
            yield port, unix
        finally:
            process.terminate()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("bench: opa did not start")
