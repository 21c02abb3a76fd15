"""kill -9 at random moments (issue 4): a worker resumes approved calls and is killed, a new one goes on, and so on."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalState
from tests.torture.crashing import DONE, READY, work
from tests.torture.processes import started
from tests.torture.sizes import CRASHES, SEED
from tests.torture.vault import Vault, effects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.torture

MOST_MICROSECONDS = 60_000
"""Some calls long: a kill hits any moment of one."""
CALLS_A_LIFE = 6


def test_workers_killed_at_random_lose_nothing_and_run_nothing_twice(
    vault_folder: Path, target: str, report: Callable[[str, int, float], None]
) -> None:
    moments, began = random.Random(SEED), time.perf_counter()  # noqa: S311 - repeatable by its seed
    with Vault(vault_folder, target) as vault:
        for number in range(CRASHES * CALLS_A_LIFE):
            vault.approved(f"run-{number}")
    for _ in range(CRASHES):
        with started(work, vault_folder, target) as (process, connection):
            assert connection.recv() == READY
            time.sleep(moments.randrange(MOST_MICROSECONDS) / 1e6)
            process.kill()
    with started(work, vault_folder, target) as (_, connection):
        assert [connection.recv(), connection.recv()] == [READY, DONE]
    states = nothing_twice_and_nothing_lost(vault_folder, target, crashes=CRASHES, calls=CRASHES * CALLS_A_LIFE)
    report(f"crashes ({states['consumed']} between use and end)", CRASHES, began)


def nothing_twice_and_nothing_lost(folder: Path, target: str, *, crashes: int, calls: int) -> Counter[str]:
    """Every call has run once, but those that a crash hit between being used up and its end: these are listed."""
    happened = effects(folder)
    assert set(happened.values()) <= {1}
    with closing(open_store(target)) as store:
        states = {each.bindings.run_id: each.state for each in store.find("acme", set(ApprovalState), calls + 1)}
        open_ends = store.unfinished(None, store.now_ms() + 1000)
    assert len(states) == calls
    assert set(states.values()) <= {ApprovalState.COMPLETED, ApprovalState.CONSUMED}
    may_have_run = {each.intent.run_id for each in open_ends if each.may_have_run}
    assert may_have_run == {run for run, state in states.items() if state is ApprovalState.CONSUMED}
    for run, state in states.items():
        if state is ApprovalState.COMPLETED:
            assert happened[f"transfer {run}"] == 1, run
    assert len(open_ends) <= crashes
    return Counter(str(state) for state in states.values())
