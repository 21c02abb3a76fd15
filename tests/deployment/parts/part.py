"""One process of a set-up: started, killed without a word, stopped as if it hung, and started again at its address."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Self

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Part:
    """A process. Its output goes to `log`; a part that reads commands has them in `pipe`."""

    def __init__(self, log: Path, command: Sequence[str | Path], *, talks: bool = False) -> None:
        self.log = log
        self.command = [str(word) for word in command]
        self.talks = talks
        self.process: subprocess.Popen[str] | None = None

    def start(self, *more: str) -> Self:
        """Start it, with more arguments where they are given."""
        pipe = subprocess.PIPE if self.talks else subprocess.DEVNULL
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*self.command, *more],
                stdin=pipe,
                stdout=pipe if self.talks else log,
                stderr=log,
                text=True,
                cwd=ROOT,
            )
        return self

    @property
    def pid(self) -> int:
        return self.running.pid

    @property
    def running(self) -> subprocess.Popen[str]:
        if self.process is None:
            raise RuntimeError(f"{self.log.name} is not running")
        return self.process

    def kill(self) -> None:
        """What ``kill -9`` does: no handler, no cleanup, no goodbye."""
        process = self.running
        process.send_signal(signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self.process = None

    def hang(self) -> None:
        """It keeps its connections, and answers nothing."""
        self.running.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.running.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End it in whatever state it is."""
        if self.process is not None:
            self.kill()


def python(module: str, *arguments: object) -> list[str]:
    """The command of a part that is a module of these tests."""
    return [sys.executable, "-m", module, *map(str, arguments)]
