"""Processes of their own that share nothing with the test: forked from a server that has only imported modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.torture.racing", "tests.torture.crashing"])
WAIT_SECONDS = 120.0


def die(*_: object) -> None:
    """What ``kill -9`` does: no handler, no cleanup, no goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def started(step: Callable[..., None], *arguments: Any) -> Iterator[tuple[Any, Connection]]:
    """A process that runs ``step(connection, *arguments)``, and the other end of its connection."""
    ours, theirs = FORKED.Pipe()
    process = FORKED.Process(target=step, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        process.close()
        ours.close()


def together(step: Callable[..., Any], processes: int, *arguments: Any) -> list[Any]:
    """Run ``step(barrier, number, *arguments)`` in so many processes at once; what each gave back, in no order."""
    barrier, answers = FORKED.Barrier(processes), []
    pairs = [FORKED.Pipe(duplex=False) for _ in range(processes)]
    running = [
        FORKED.Process(target=_answer, args=(theirs, barrier, step, number, *arguments))
        for number, (_, theirs) in enumerate(pairs)
    ]
    for process in running:
        process.start()
    for ours, theirs in pairs:
        theirs.close()
        answers.append(ours.recv())  # EOFError when it died
        ours.close()
    for process in running:
        process.join()
        process.close()
    if failures := [what for okay, what in answers if not okay]:
        raise RuntimeError(f"a process failed: {failures}")
    return [what for _, what in answers]


def _answer(connection: Connection, barrier: Any, step: Callable[..., Any], *arguments: Any) -> None:
    try:
        connection.send((True, step(barrier, *arguments)))
    except BaseException as problem:
        barrier.abort()
        connection.send((False, repr(problem)))
        raise
    finally:
        connection.close()
