"""What runs in the processes that are killed, and in those that come after them."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from aioc_opa.core.approvals.states import ApprovalState
from tests.torture.dying import DyingStore
from tests.torture.processes import die, started
from tests.torture.vault import Vault, call, nothing

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

READY = "ready"
DONE = "done"
LEFT = frozenset({ApprovalState.APPROVED, ApprovalState.CONSUMED})
"""States of what a worker that starts anew finds: not used, and used up by one that did not come to its end."""


def killed_at(asked: dict[str, str], folder: Path, target: str) -> None:
    """For each point, ask for its call in a process that is killed there: ``after consume``, ``handler before …``."""
    with ExitStack() as stack:
        running = [
            (point, stack.enter_context(started(_until, point, folder, target, one))[0]) for point, one in asked.items()
        ]
        for point, process in running:
            process.join()
            if process.exitcode != -signal.SIGKILL:
                raise AssertionError(f"{point}: the process was not killed there, but ended with {process.exitcode}")


def asked_anew(asked: dict[str, str], folder: Path, target: str) -> dict[str, str]:
    """What a new process is told that asks for the same."""
    with started(_anew, folder, target, list(asked.values())) as (_, connection):
        return dict(zip(asked, connection.recv(), strict=True))


def work(connection: Connection, folder: Path, target: str) -> None:
    """Resume whatever is there to be resumed, used up or not, again and again, as a worker would; until killed."""
    with Vault(folder, target) as vault:
        vault.guard.authorize("transfer", '{"to": "A7", "amount": 1}', **call("warm"))  # the first one takes longer
        # What may have run comes first: a worker that starts anew tries it again, and is refused.
        records = sorted(vault.store.find("acme", LEFT, 100_000), key=lambda r: r.state is ApprovalState.APPROVED)
        connection.send(READY)
        for record in records:
            vault.resume(record.approval_id)
        connection.send(DONE)


def _until(_connection: Connection, point: str, folder: Path, target: str, asked: str) -> None:
    moment, _, step = point.partition(" ")
    in_handler: Callable[[str], None] = nothing
    wrap: Callable[[Any], Any] = partial(DyingStore, moment=moment, step=step)
    if moment == "handler":
        in_handler, wrap = partial(_at, step), lambda store: store
    with Vault(folder, target, wrap=wrap, in_handler=in_handler) as vault:
        _ask(vault, asked)


def _anew(connection: Connection, folder: Path, target: str, asked: list[str]) -> None:
    with Vault(folder, target) as vault:
        connection.send([_ask(vault, one) for one in asked])


def _ask(vault: Vault, asked: str) -> str:
    """An approval is resumed; a call of a tool marked ``once`` is made (again, as frameworks do)."""
    return vault.resume(asked) if asked.startswith("apr_") else vault.once(asked)


def _at(wanted: str, moment: str) -> None:
    if moment == wanted:
        die()
