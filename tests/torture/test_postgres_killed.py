"""kill -9 of the whole PostgreSQL server while a worker uses approvals up: what it had confirmed is still so afterwards."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.killed_postgres import own_server
from tests.torture.crashing import DONE, READY, work
from tests.torture.processes import started
from tests.torture.sizes import FULL, SEED
from tests.torture.test_random_crashes import nothing_twice_and_nothing_lost
from tests.torture.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.torture

KILLS = 10 if FULL else 1
CALLS = 8 * KILLS


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
