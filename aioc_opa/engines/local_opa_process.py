"""One `opa` process that belongs to us: started, watched, started again, stopped with us.

- Started through `local_opa_supervisor`, in a session of its own (Ctrl-C in our terminal is ours to handle), with an
  empty environment, in a private folder.
- Watched by one daemon thread. When it ends, or when its socket is gone (cleaners of /tmp), it is started again from
  what we hold in memory: soon the first time, then ever later, up to `MAX_RESTART_SECONDS`. It never gives up.
  Meanwhile connections are refused, and a question is a deny.
- Stopped by `stop`, when it is collected, when the interpreter exits, and by the supervisor when we are killed.
- A fork of us does not own it: there, `stop` does nothing, and the descriptor that keeps it alive is closed.
"""

from __future__ import annotations

import logging
import os
import selectors
import shutil
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIRST_RESTART_SECONDS: Final = 0.05
MAX_RESTART_SECONDS: Final = 5.0
STEADY_SECONDS: Final = 60.0
"""After a run as long as this the delays start from the first again."""

_SUPERVISOR: Final = Path(__file__).with_name("local_opa_supervisor.py")
_CHECK_SECONDS: Final = 1.0
_FIRST_CHECK_SECONDS: Final = 0.05
_STOP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.01
_KEPT_OUTPUT_BYTES: Final = 16 * 1024

_log: Final = logging.getLogger(__name__)
_living: Final[weakref.WeakSet[OpaProcess]] = weakref.WeakSet()


def restart_delay(previous: float, *, ran_for: float) -> float:
    """Seconds to wait before the next start, after `previous` seconds before the last one."""
    if ran_for >= STEADY_SECONDS:
        return FIRST_RESTART_SECONDS
    return min(max(2 * previous, FIRST_RESTART_SECONDS), MAX_RESTART_SECONDS)


class OpaStartError(Exception):
    """`opa` did not come up. `output` is the end of what it wrote; `timed_out` says that it was still running."""

    def __init__(self, output: str, *, timed_out: bool) -> None:
        super().__init__(output)
        self.output = output
        self.timed_out = timed_out


class OpaProcess:
    """An `opa` and what it takes to keep it running.

    Args:
        command: absolute path of `opa`, and its arguments.
        folder: private folder in which it runs; removed when it is stopped.
        prepare: puts into `folder` what `opa` reads; called before every start. May raise OSError.
        is_up: whether it answers yet.
        must_exist: a file (its socket) without which it has to be started again.
        inherit_output: what `opa` writes goes to our standard error; else the end of it is kept for `OpaStartError`.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        prepare: Callable[[], None],
        is_up: Callable[[], bool],
        must_exist: Path | None = None,
        inherit_output: bool = False,
    ) -> None:
        self._command: Final = list(command)
        self._folder: Final = folder
        self._prepare: Final = prepare
        self._is_up: Final = is_up
        self._must_exist: Final = must_exist
        self._inherit_output: Final = inherit_output
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._up = False
        self._gave_up = False
        self._disowned = False
        self._output = b""
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._thread: Final = threading.Thread(target=self._watch, name="aioc-opa-local", daemon=True)
        self.starts = 0
        """How often it was started."""

    def start(self, seconds: float) -> None:
        """Start it, and wait until it answers.

        Raises:
            OpaStartError: it ended, or did not answer within `seconds`. It is stopped then.
            EngineConfigurationError: this interpreter cannot start another one.
        """
        if not sys.executable:
            raise EngineConfigurationError(
                "sys.executable is not known here, and the local engine needs a Python to watch over `opa`: "
                "run an OPA server yourself and use OpaServerEngine"
            )
        _living.add(self)
        self._thread.start()
        end = time.monotonic() + seconds
        while not self._ended.wait(_POLL_SECONDS):
            if self._is_up():
                with self._lock:
                    self._up = not self._gave_up
                if self._up:
                    return
            if time.monotonic() >= end:
                self.stop()
                raise OpaStartError(self._text(), timed_out=True)
        self.stop()
        raise OpaStartError(self._text(), timed_out=False)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended for good. Returns whether it has."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """Stop it and remove its folder. Does nothing when it is stopped already, or in a fork of its owner."""
        with self._lock:
            self._stopping.set()
            if self._disowned:
                return
            supervisor = self._supervisor
            if supervisor is not None:
                _close_life_line(supervisor)
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        if supervisor is not None and supervisor.poll() is None:  # it hangs: on Linux the kernel takes `opa` along
            supervisor.kill()
            supervisor.wait()
        shutil.rmtree(self._folder, ignore_errors=True)  # the supervisor's work, unless it was gone already

    def _watch(self) -> None:
        delay = 0.0
        while not self._stopping.wait(delay):
            began = time.monotonic()
            try:
                self._run_once()
            except OSError as problem:
                self._output = str(problem).encode()
            with self._lock:
                self._gave_up = not self._up  # the first start is `start`'s to report
            if self._gave_up:
                break
            delay = restart_delay(delay, ran_for=time.monotonic() - began)
            if not self._stopping.is_set():
                _log.warning("the local opa has ended; starting it again in %.2f s", delay)
        self._ended.set()

    def _run_once(self) -> None:
        self._output = b""
        with self._lock:
            if self._stopping.is_set():
                return
            self._prepare()
            if self._must_exist is not None:
                self._must_exist.unlink(missing_ok=True)  # left by one that was killed
            supervisor = self._supervisor = subprocess.Popen(  # noqa: S603 - our interpreter, our file, no shell
                # -I and -S: nothing from the environment, the working directory or site-packages is imported
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(os.getpid()), str(self._folder), *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if self._inherit_output else subprocess.PIPE,
                bufsize=0,
                cwd=self._folder,
                start_new_session=True,
                umask=0o077,
            )
            self.starts += 1
        try:
            self._follow(supervisor)
        finally:
            _close_life_line(supervisor)
            supervisor.wait()
            for stream in (supervisor.stdout, supervisor.stderr):
                if stream is not None:
                    stream.close()

    def _follow(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Until the supervisor has ended: keep the end of the output, and look after the socket."""
        began = time.monotonic()
        was_there = self._must_exist is None
        with selectors.DefaultSelector() as selector:
            for stream in (supervisor.stdout, supervisor.stderr):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ)
            while True:
                ready = selector.select(_CHECK_SECONDS if was_there else _FIRST_CHECK_SECONDS)
                ended = False
                for key, _ in ready:
                    block = os.read(key.fd, 65536)
                    self._output = (self._output + block)[-_KEPT_OUTPUT_BYTES:]
                    if not block:
                        selector.unregister(key.fileobj)
                        ended = ended or key.fileobj is supervisor.stdout
                if ended:
                    self._drain(supervisor)
                    return
                there = self._must_exist is None or self._must_exist.exists()
                # A large policy takes its time before it listens; what has answered has listened.
                was_there = was_there or there or (self._up and self.starts == 1)
                late = self._up and time.monotonic() - began >= STEADY_SECONDS
                if not there and (was_there or late) and not _life_line_is_closed(supervisor):
                    _log.warning("the socket of the local opa is gone")
                    _close_life_line(supervisor)

    def _drain(self, supervisor: subprocess.Popen[bytes]) -> None:
        """What is left in the pipe. Not to its end: where `opa` outlives a killed supervisor, it holds the pipe."""
        if supervisor.stderr is None:
            return
        os.set_blocking(supervisor.stderr.fileno(), False)
        while block := supervisor.stderr.read(65536):
            self._output = (self._output + block)[-_KEPT_OUTPUT_BYTES:]

    def _text(self) -> str:
        return self._output.decode("utf-8", "replace").strip()

    def disown(self) -> None:
        """In a fork of the owner: let go of it without touching it."""
        self._disowned = True
        self._lock = threading.Lock()  # a thread that is not here may hold the other
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            supervisor.returncode = 0  # it is not our child: nothing to wait for
            for stream in (supervisor.stdin, supervisor.stdout, supervisor.stderr):
                if stream is not None:
                    stream.close()


def _life_line_is_closed(supervisor: subprocess.Popen[bytes]) -> bool:
    return supervisor.stdin is None or supervisor.stdin.closed


def _close_life_line(supervisor: subprocess.Popen[bytes]) -> None:
    if supervisor.stdin is not None:
        supervisor.stdin.close()


def _after_fork() -> None:
    for process in list(_living):
        process.disown()


os.register_at_fork(after_in_child=_after_fork)
