"""Two processes racing on one grant, one call or the last of a budget: exactly one runs (issue 4)."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalState
from tests.torture.racing import prepared_grants, race_for_budgets, race_for_calls, race_for_grants
from tests.torture.sizes import FULL, RACES
from tests.torture.vault import Vault, effects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.torture


@pytest.fixture(params=[2, 4] if FULL else [3])
def processes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def count(processes: int) -> int:
    """Four at once race for a tenth of them."""
    return RACES // 10 if processes == 4 else RACES


def test_of_processes_racing_to_use_a_grant_exactly_one_runs(
    vault_folder: Path, target: str, processes: int, count: int, report: Callable[[str, int, float], None]
) -> None:
    began = time.perf_counter()
    ids = prepared_grants(vault_folder, target, count)
    report("approvals", count, began)
    began = time.perf_counter()
    told = race_for_grants(vault_folder, target, ids, processes)
    report("races", count, began)
    assert effects(vault_folder) == Counter(f"transfer race-{number}" for number in range(count))
    assert told == {"ran": count, "approval_consumed": count * (processes - 1)}
    with closing(open_store(target)) as store:
        found = store.find("acme", set(ApprovalState), count + 1)
        assert Counter(record.state for record in found) == {ApprovalState.COMPLETED: count}
        assert store.unfinished(None, store.now_ms() + 1000) == []


def test_of_processes_racing_to_call_a_tool_marked_once_exactly_one_runs(
    vault_folder: Path, target: str, processes: int, count: int, report: Callable[[str, int, float], None]
) -> None:
    began = time.perf_counter()
    told = race_for_calls(vault_folder, target, [f"race-{number}" for number in range(count)], processes)
    report("races", count, began)
    assert effects(vault_folder) == Counter(f"balance race-{number}" for number in range(count))
    assert told == {"ran": count, "call_already_executed": count * (processes - 1)}
    with closing(open_store(target)) as store:
        assert store.unfinished(None, store.now_ms() + 1000) == []


def test_processes_racing_for_the_last_of_a_budget_never_overspend_it(
    vault_folder: Path, target: str, processes: int, count: int, report: Callable[[str, int, float], None]
) -> None:
    began = time.perf_counter()
    told = race_for_budgets(vault_folder, target, [f"race-{number}" for number in range(count)], processes)
    report("races", count, began)
    lasts = processes - 1
    assert effects(vault_folder) == Counter({f"transfer race-{number}": lasts for number in range(count)})
    assert told == {"ran": count * lasts, "tool_not_authorized": count}


def test_the_count_of_effects_would_show_one_that_ran_twice(vault_folder: Path, tmp_path: Path) -> None:
    """The measure itself: with a store each, as stores in memory would be, both run."""
    for target in (tmp_path / "one.db", tmp_path / "other.db"):
        with Vault(vault_folder, str(target)) as vault:
            assert vault.once("race-0") == "ran"
    assert effects(vault_folder) == {"balance race-0": 2}
