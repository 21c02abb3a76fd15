"""Runs as a process of its own between us and `opa`, so that `opa` never outlives us. Standard library only.

Linux can kill a child when its parent dies (`PR_SET_PDEATHSIG`, prctl(2)), but "parent" there means the *thread* that
forked, which in a threaded application ends long before the process. So the promise is kept in two steps:

1. This process has one thread. It starts `opa`, which asks to be killed when this process dies, however it dies.
2. This process ends when its standard input does. The other end is held by the application alone; the kernel closes
   it when the application dies, also by `kill -9`. Should a forked copy of the application still hold it, the change of
   parent tells, within a second.

Before it ends it stops `opa` and removes the private folder; if `opa` ends by itself, it just ends with its status,
and the application starts the two again. Its standard output is never written: when it closes, this process is gone.

Usage: ``python -I -S local_opa_supervisor.py PARENT_PID FOLDER OPA ARGUMENT …`` in the folder that `opa` shall run in.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

STDIN, STDOUT, STDERR = 0, 1, 2
PARENT_CHECK_SECONDS = 1.0
GRACE_SECONDS = 2.0
CANNOT_START = 127
_PR_SET_PDEATHSIG = 1


def start(command: list[str]) -> tuple[int, int]:
    """Start `opa` with an empty environment.

    Returns:
        Its process id, and a file descriptor that becomes readable when it has ended.
    """
    # Loaded before the fork: the child does as little as it can.
    prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None
    ended, held_by_opa = os.pipe()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(command, held_by_opa, us, prctl)
        except BaseException as problem:  # noqa: BLE001 - nothing may return into the parent's code
            os.write(STDERR, f"cannot start {command[0]}: {problem}\n".encode("utf-8", "replace"))
        os._exit(CANNOT_START)
    os.close(held_by_opa)
    return pid, ended


def _become(command: list[str], held: int, parent: int, prctl: ctypes._NamedFuncPointer | None) -> NoReturn:
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above took effect
        os._exit(CANNOT_START)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), STDIN)
    os.dup2(STDERR, STDOUT)  # standard output is the sign of life of the supervisor alone
    os.set_inheritable(held, True)
    os.execve(command[0], command, {})  # noqa: S606 - no shell is wanted


def stop(pid: int, ended: int) -> None:
    """Ask `opa` to end, then make it."""
    os.kill(pid, signal.SIGTERM)
    if not select.select([ended], [], [], GRACE_SECONDS)[0]:
        os.kill(pid, signal.SIGKILL)


def remove(folder: str) -> None:
    """Remove the private folder, as far as it can be."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _quietly(os.unlink, f"{place}/{name}")
        for name in folders:
            _quietly(os.rmdir, f"{place}/{name}")
    _quietly(os.rmdir, folder)


def _quietly(action: Callable[[str], None], path: str) -> None:
    try:
        action(path)
    except OSError:
        return


def main(arguments: list[str]) -> int:
    """Start, watch, stop. Returns the exit status: `opa`'s own, or 128 and the signal that ended it."""
    parent, folder, command = int(arguments[0]), arguments[1], arguments[2:]
    told = False

    def on_signal(_number: int, _frame: object) -> None:
        nonlocal told
        told = True

    signal.signal(signal.SIGTERM, on_signal)
    pid, ended = start(command)
    while True:
        ready = select.select([STDIN, ended], [], [], PARENT_CHECK_SECONDS)[0]
        if ended in ready:
            break
        if told or STDIN in ready or os.getppid() != parent:
            told = True
            stop(pid, ended)
            break
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if told:
        remove(folder)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
