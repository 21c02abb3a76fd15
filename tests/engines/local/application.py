"""An application with a local engine, to be killed by a test. Usage: application.py OPA MODE

Prints one JSON line with the process ids when its engine is up, and then does what MODE says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from tests.engines.local.conftest import QUESTION, folder, policy, processes


def answers(engine: LocalOpaEngine) -> bool:
    return engine.evaluate(TOOL_POLICY_PATH, QUESTION, Deadline.after(30)).result is not None


def write(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def say(engine: LocalOpaEngine, **more: object) -> None:
    supervisor, opa = processes(engine)
    write({"supervisor": supervisor, "opa": opa, "folder": str(folder(engine)), **more})


def in_child(action: object) -> int:
    """Run `action` in a fork, which then ends as a Python program does (with its exit handlers)."""
    pid = os.fork()
    if pid:
        return pid
    action()  # type: ignore[operator]
    sys.exit(0)


def main(opa: Path, mode: str) -> None:
    # A shell that starts its jobs in the background hands down an ignored SIGINT, which a test here sends.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    engines: list[LocalOpaEngine] = []

    def build() -> None:
        engines.append(LocalOpaEngine(policy(), opa_binary=opa))

    if mode == "thread":  # the thread that started it is gone when the application is killed
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    else:
        build()
    (engine,) = engines
    if mode in {"wait", "thread"}:
        say(engine)
        time.sleep(600)
    elif mode == "fork-wait":  # a fork that outlives the application
        say(engine, child=in_child(lambda: time.sleep(600)))
        time.sleep(600)
    elif mode == "fork-ask":  # forks ask, close, and end; it is not theirs to stop
        assert answers(engine)
        for action in (lambda: answers(engine), engine.close, lambda: (engine.close(), answers(engine))[0]):
            before = in_child(action)
            status = os.waitstatus_to_exitcode(os.waitpid(before, 0)[1])
            write({"status": status, "still": answers(engine)})
    elif mode == "end":
        say(engine)
    elif mode == "drop":
        say(engine)
        engines.clear()
        del engine
        time.sleep(600)
    else:
        say(engine)
        raise RuntimeError(mode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
