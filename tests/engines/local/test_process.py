"""The process keeper, where a real `opa` would not do: one that dies at once, again and again, or does not stop."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines import local_opa_process
from aioc_opa.engines.local_opa_process import (
    FIRST_RESTART_SECONDS,
    MAX_RESTART_SECONDS,
    STEADY_SECONDS,
    OpaProcess,
    OpaStartError,
    restart_delay,
)
from tests.engines.local.conftest import SECONDS, children, is_running, until

if TYPE_CHECKING:
    from pathlib import Path


def keeper(tmp_path: Path, script: str, **options: object) -> OpaProcess:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return OpaProcess(
        ["/bin/sh", "-c", script],
        folder=folder,
        prepare=lambda: folder.mkdir(mode=0o700, exist_ok=True),
        is_up=(folder / "up").exists,
        **options,  # type: ignore[arg-type]  # the tests name real ones
    )


def test_delays_grow_to_a_bound_and_start_again_after_a_steady_run() -> None:
    delays = [restart_delay(0.0, ran_for=0.0)]
    while delays[-1] < MAX_RESTART_SECONDS:
        delays.append(restart_delay(delays[-1], ran_for=0.0))
    assert delays[0] == FIRST_RESTART_SECONDS
    assert delays == sorted(set(delays))
    assert restart_delay(MAX_RESTART_SECONDS, ran_for=0.0) == MAX_RESTART_SECONDS
    assert restart_delay(MAX_RESTART_SECONDS, ran_for=STEADY_SECONDS) == FIRST_RESTART_SECONDS


def test_one_that_keeps_dying_is_started_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_opa_process, "FIRST_RESTART_SECONDS", 0.01)
    monkeypatch.setattr(local_opa_process, "MAX_RESTART_SECONDS", 0.02)
    # It runs long enough to be seen once.
    process = keeper(tmp_path, "if [ -e up ]; then exit 1; fi; : > up; read _ < /dev/null; /bin/sleep 0.3; exit 1")
    process.start(SECONDS)
    until(lambda: process.starts >= 4, "the fourth start")
    process.stop()
    assert process.wait(SECONDS)
    assert not (tmp_path / "private").exists()


def test_one_that_cannot_be_prepared_again_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_opa_process, "FIRST_RESTART_SECONDS", 0.01)
    tries: list[int] = []

    def prepare() -> None:
        tries.append(1)
        if 2 <= len(tries) <= 3:
            raise PermissionError("not now")

    folder = tmp_path / "private"
    folder.mkdir()
    process = OpaProcess(
        ["/bin/sh", "-c", f": > up; echo $$ >> {tmp_path}/pids; exec /bin/sleep 600"],
        folder=folder,
        prepare=prepare,
        is_up=(folder / "up").exists,
    )
    process.start(SECONDS)
    until(lambda: (tmp_path / "pids").read_text().endswith("\n"), "the pid")
    os.kill(int((tmp_path / "pids").read_text()), 9)
    until(lambda: process.starts == 2, "the second start")
    assert len(tries) == 4
    process.stop()


def test_one_that_cannot_be_prepared_at_all_is_a_start_error(tmp_path: Path) -> None:
    def prepare() -> None:
        raise PermissionError("never")

    process = OpaProcess(["/bin/true"], folder=tmp_path / "private", prepare=prepare, is_up=lambda: False)
    with pytest.raises(OpaStartError, match="never") as failure:
        process.start(SECONDS)
    assert not failure.value.timed_out
    assert process.starts == 0


def test_what_it_wrote_last_is_kept_up_to_a_bound(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 4000 ]; do echo line number $i >&2; i=$((i+1)); done; echo the end; exit 7"
    with pytest.raises(OpaStartError) as failure:
        keeper(tmp_path, script).start(SECONDS)
    assert failure.value.output.endswith("line number 3999\nthe end")
    assert len(failure.value.output) <= local_opa_process._KEPT_OUTPUT_BYTES


def test_one_that_does_not_want_to_stop_is_killed(tmp_path: Path) -> None:
    process = keeper(tmp_path, f"trap '' TERM; echo $$ > {tmp_path}/pid; : > up; while :; do /bin/sleep 1; done")
    process.start(SECONDS)
    pid = int((tmp_path / "pid").read_text())
    process.stop()
    assert not is_running(pid)


def test_a_supervisor_that_hangs_is_killed_and_takes_its_child_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_opa_process, "_STOP_SECONDS", 0.1)
    process = keeper(tmp_path, ": > up; exec /bin/sleep 600")
    process.start(SECONDS)
    assert process._supervisor is not None
    supervisor = process._supervisor.pid
    (child,) = children(supervisor)
    os.kill(supervisor, 19)  # SIGSTOP
    process.stop()
    until(lambda: not is_running(child), "the end of the child")
    assert process.wait(SECONDS)
    assert not (tmp_path / "private").exists()


def test_one_that_is_not_there_is_a_start_error(tmp_path: Path) -> None:
    process = OpaProcess([str(tmp_path / "gone")], folder=tmp_path, prepare=lambda: None, is_up=lambda: False)
    with pytest.raises(OpaStartError, match="cannot start"):
        process.start(SECONDS)


def test_one_that_dies_just_when_it_was_seen_is_a_start_error(tmp_path: Path) -> None:
    process = keeper(tmp_path, "exit 1")

    def seen() -> bool:
        process._ended.wait(SECONDS)
        return True

    process._is_up = seen  # type: ignore[misc]  # Final for everyone else
    with pytest.raises(OpaStartError):
        process.start(SECONDS)


TALKER = """
import sys
from pathlib import Path
from aioc_opa.engines.local_opa_process import OpaProcess
folder = Path(sys.argv[1])
process = OpaProcess(
    ["/bin/sh", "-c", "echo told; : > up; exec /bin/sleep 600"],
    folder=folder, prepare=lambda: None, is_up=(folder / "up").exists, inherit_output=True,
)
process.start(30)
process.stop()
"""


def test_its_output_can_go_to_our_own_standard_error(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TALKER, tmp_path], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "told\n")


def test_stopping_before_starting_is_no_error(tmp_path: Path) -> None:
    process = keeper(tmp_path, "exit 1")
    process.stop()
    assert not (tmp_path / "private").exists()


def test_a_fork_lets_go_without_touching_it(tmp_path: Path) -> None:
    process = keeper(tmp_path, ": > up; exec /bin/sleep 600")
    process.start(SECONDS)
    assert process._supervisor is not None
    (child,) = children(process._supervisor.pid)
    # What the hook does in a fork, on a twin that has the same descriptors as a fork has.
    twin = keeper(tmp_path / "private", "exit 1")
    twin._supervisor = supervisor_twin = subprocess.Popen(["/bin/true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    supervisor_twin.wait()
    twin.disown()
    twin.stop()
    assert supervisor_twin.stdin is not None
    assert supervisor_twin.stdin.closed
    assert (tmp_path / "private" / "private").exists()
    assert is_running(child)
    process.stop()
