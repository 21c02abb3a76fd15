"""The supervisor by itself: its status, its folder, what its child is given."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines import local_opa_supervisor
from tests.engines.local.conftest import children, is_running, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCE = Path(local_opa_supervisor.__file__)


def supervise(folder: Path, command: Sequence[str | Path], *, parent: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # As a module, so that its coverage is measured; in earnest it is run as a file.
        [sys.executable, "-m", local_opa_supervisor.__name__, str(parent or os.getpid()), folder, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 128 + 9), ("kill -TERM $$", 128 + 15)]
)
def test_it_ends_with_the_status_of_its_child_and_leaves_the_folder(tmp_path: Path, script: str, status: int) -> None:
    running = supervise(tmp_path, ["/bin/sh", "-c", script])
    running.stdout.read()  # type: ignore[union-attr]  # a pipe: it ends when the supervisor does
    running.communicate()
    assert running.returncode == status
    assert tmp_path.exists()


def test_its_standard_output_stays_silent_and_the_child_has_no_input_and_no_environment(tmp_path: Path) -> None:
    running = supervise(tmp_path, ["/bin/sh", "-c", "echo out; echo err >&2; /bin/cat; /usr/bin/env"])
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.read() == b""
    assert running.stderr.read().replace(b"_=/usr/bin/env\n", b"") == b"out\nerr\n" + f"PWD={tmp_path}\n".encode()
    running.communicate()


def test_when_its_input_ends_it_stops_the_child_and_removes_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").touch()
    running = supervise(folder, ["/bin/sleep", "600"])
    until(lambda: len(children(running.pid)) == 1, "the child")
    (child,) = children(running.pid)
    running.communicate()  # closes its input
    assert running.returncode == 128 + signal.SIGTERM
    assert not is_running(child)
    assert not folder.exists()


def test_a_child_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    running = supervise(folder, ["/bin/sh", "-c", f"trap '' TERM; : > {tmp_path}/up; while :; do /bin/sleep 1; done"])
    until((tmp_path / "up").exists, "the child")
    running.communicate()
    assert running.returncode == 128 + signal.SIGKILL


def test_a_request_to_end_is_one_to_stop_the_child(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    running = supervise(folder, ["/bin/sleep", "600"])
    until(lambda: len(children(running.pid)) == 1, "the child")
    (child,) = children(running.pid)
    running.terminate()
    running.wait()
    assert not is_running(child)
    assert not folder.exists()
    running.communicate()


def test_when_its_parent_is_another_it_stops_the_child(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    running = supervise(folder, ["/bin/sleep", "600"], parent=os.getpid() + 1)
    running.wait()
    assert not folder.exists()
    running.communicate()


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    running = supervise(tmp_path, [tmp_path / "gone"])
    running.wait(timeout=60)  # before its standard input is closed, which is a request to end
    _, said = running.communicate()
    assert running.returncode == local_opa_supervisor.CANNOT_START
    assert b"cannot start" in said


def test_a_folder_that_cannot_be_removed_is_left(tmp_path: Path) -> None:
    local_opa_supervisor.remove(str(tmp_path / "gone"))
    local_opa_supervisor._quietly(os.rmdir, str(SOURCE.parent))
    assert SOURCE.parent.exists()


class _Became(BaseException):
    """Stands for the end of this program's code."""


@contextmanager
def without_effect() -> Iterator[list[object]]:
    """Lets the child's steps be taken in this very process."""
    steps: list[object] = []

    def become(*arguments: object) -> None:
        steps.append(arguments)
        raise _Became

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "dup2", lambda *arguments: steps.append(arguments))
        patch.setattr(os, "open", lambda *_: 99)
        patch.setattr(os, "set_inheritable", lambda *arguments: steps.append(arguments))
        patch.setattr(os, "execve", become)
        patch.setattr(os, "_exit", become)
        patch.setattr(signal, "signal", lambda *arguments: steps.append(arguments))
        with pytest.raises(_Became):
            yield steps


def test_the_child_asks_to_be_killed_with_its_parent_before_it_becomes_opa() -> None:
    with without_effect() as steps:

        def prctl(*arguments: object) -> int:
            steps.append(arguments)
            return 0

        local_opa_supervisor._become(["/opa", "run"], 7, os.getppid(), prctl)  # type: ignore[arg-type]  # a stand-in
    assert steps[0] == (1, signal.SIGKILL)
    assert steps[-1] == ("/opa", ["/opa", "run"], {})


def test_a_child_whose_parent_is_gone_already_ends() -> None:
    with without_effect() as steps:
        local_opa_supervisor._become(["/opa"], 7, os.getppid() + 1, None)
    assert steps == [(local_opa_supervisor.CANNOT_START,)]


def test_the_kernel_knows_the_option_that_is_used() -> None:
    found = ctypes.c_int(-1)
    assert ctypes.CDLL(None).prctl(2, ctypes.byref(found)) == 0  # PR_GET_PDEATHSIG
    assert found.value == 0
