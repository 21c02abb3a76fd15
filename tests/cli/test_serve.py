"""`aioc-opa serve`, as a real process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines.local_opa_startup import is_healthy
from tests.opa_process import free_port

if TYPE_CHECKING:
    from pathlib import Path

# A shell that starts its jobs in the background hands down an ignored SIGINT, which a test here sends.
START = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from aioc_opa.cli.main import main; main()"
PROGRAM = [sys.executable, "-c", START, "serve"]


def serve(opa_binary: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        env={**os.environ, "AIOC_OPA_BIN": str(opa_binary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(
    opa_binary: Path, repository: Path, number: signal.Signals, tmp_path: Path
) -> None:
    port = free_port()
    (data := tmp_path / "data.json").write_text('{"more": {"limit": 1}}')
    running = serve(opa_binary, "--policy", repository / "rego", "--data", data, "--addr", f"127.0.0.1:{port}")
    try:
        assert running.stdout is not None
        first = running.stdout.readline()
        if f"http://127.0.0.1:{port}" not in first:
            pytest.fail(first + running.communicate(timeout=30)[1])
        assert running.stdout.readline().startswith("revision sha256:")
        assert is_healthy(("127.0.0.1", port))
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert (out, running.returncode) == ("stopped\n", 0), err
    assert not is_healthy(("127.0.0.1", port))


def test_what_cannot_be_served_is_said_in_a_line(opa_binary: Path, repository: Path, tmp_path: Path) -> None:
    for arguments, said, status in (
        (("--policy", tmp_path / "gone"), "no such policy folder", 3),
        (("--policy", repository / "rego", "--addr", "0.0.0.0:8181"), "not a loopback address", 2),
        (("--policy", repository / "rego", "--public-key", "a.pem"), "it must be a signed bundle", 3),
        (("--policy", repository / "rego", "--scope", "a"), "give --public-key", 2),
        (("--policy", repository / "rego", "--addr", "9191"), "is not an address and port such as 127.0.0.1:8181", 2),
    ):
        running = serve(opa_binary, *arguments)
        out, err = running.communicate(timeout=60)
        assert (out, running.returncode) == ("", status)
        assert said in err
        assert "Traceback" not in err
