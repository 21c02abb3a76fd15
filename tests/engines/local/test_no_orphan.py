"""`opa` never outlives the application: real processes, really killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engines.local.conftest import is_running, until

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def application(opa_binary: Path, repository: Path, mode: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.engines.local.application", str(opa_binary), mode],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def first_line(running: subprocess.Popen[str]) -> dict[str, Any]:
    assert running.stdout is not None
    line = running.stdout.readline()
    if not line:
        pytest.fail(running.communicate()[1])
    found: dict[str, Any] = json.loads(line)
    return found


def all_gone(found: dict[str, Any]) -> bool:
    return not (is_running(found["opa"]) or is_running(found["supervisor"]) or Path(found["folder"]).exists())


@pytest.mark.parametrize("mode", ["wait", "thread"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_orphan_when_the_application_is_killed(
    opa_binary: Path, repository: Path, mode: str, number: signal.Signals
) -> None:
    with application(opa_binary, repository, mode) as running:
        found = first_line(running)
        assert is_running(found["opa"])
        running.send_signal(number)
        running.wait(timeout=60)
        until(lambda: all_gone(found), f"the end of opa after {number.name}")


def test_no_orphan_when_a_fork_outlives_the_killed_application(opa_binary: Path, repository: Path) -> None:
    with application(opa_binary, repository, "fork-wait") as running:
        found = first_line(running)
        try:
            running.kill()
            running.wait(timeout=60)
            until(lambda: all_gone(found), "the end of opa")
            assert is_running(found["child"])
        finally:
            os.kill(found["child"], signal.SIGKILL)


@pytest.mark.parametrize("mode", ["end", "raise"])
def test_no_orphan_when_the_application_ends_without_closing(opa_binary: Path, repository: Path, mode: str) -> None:
    with application(opa_binary, repository, mode) as running:
        found = first_line(running)
        assert running.wait(timeout=60) == (0 if mode == "end" else 1)
        until(lambda: all_gone(found), "the end of opa")


def test_no_orphan_when_the_engine_is_dropped(opa_binary: Path, repository: Path) -> None:
    with application(opa_binary, repository, "drop") as running:
        found = first_line(running)
        until(lambda: all_gone(found), "the end of opa")
        assert running.poll() is None


def test_a_fork_may_ask_but_does_not_stop_what_it_does_not_own(opa_binary: Path, repository: Path) -> None:
    with application(opa_binary, repository, "fork-ask") as running:
        out, err = running.communicate(timeout=60)
        lines = [json.loads(line) for line in out.splitlines()]
        assert [line["still"] for line in lines] == [True, True, True], err
        # The third had closed it, in its own process, before it asked.
        assert [line["status"] for line in lines] == [0, 0, 1]
        assert err.count("Traceback") == 1
        assert err.endswith("policy_unavailable: the engine is closed\n")
