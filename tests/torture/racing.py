"""Races: processes that go for one thing at the same moment, again and again. They stay alive for all of them.

Before every race they meet at a barrier. In half of the races for a grant each has its permit by then, so that what is
raced for is the store's one step and nothing else decides.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from aioc_opa import RunContext
from tests.approvals.treasury import KIM
from tests.torture.processes import WAIT_SECONDS, together
from tests.torture.vault import FROZEN, Vault, call, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def race_for_grants(folder: Path, target: str, ids: list[str], processes: int) -> Counter[str]:
    """All go for each approved call; what they were told, counted."""
    return _told(together(_grants, processes, folder, target, ids))


def race_for_calls(folder: Path, target: str, runs: list[str], processes: int) -> Counter[str]:
    """All go for one call of a tool marked ``once`` in each run."""
    return _told(together(_calls, processes, folder, target, runs))


def race_for_budgets(folder: Path, target: str, runs: list[str], processes: int) -> Counter[str]:
    """All call in each run, whose budget lasts for all but one."""
    return _told(together(_budgets, processes, (folder, target), runs, processes - 1))


def prepared_grants(folder: Path, target: str, count: int) -> list[str]:
    """Ids of so many approved calls, each of a run of its own."""
    with Vault(folder, target) as vault:
        return [vault.approved(f"race-{number}") for number in range(count)]


def _told(answers: list[Counter[str]]) -> Counter[str]:
    return sum(answers, Counter())


def _grants(barrier: Any, _number: int, folder: Path, target: str, ids: list[str]) -> Counter[str]:
    told: Counter[str] = Counter()
    with Vault(folder, target) as vault:
        vault.store.now_ms()  # connected before the first race
        for index, approval_id in enumerate(ids):
            if index % 2:
                barrier.wait(WAIT_SECONDS)
                told[vault.resume(approval_id)] += 1
            else:
                context = RunContext(context=FROZEN)
                decided = vault.guard.authorize_resume(approval_id, principal=KIM, run_context=context)
                told[_raced(vault, decided, barrier)] += 1
    return told


def _calls(barrier: Any, _number: int, folder: Path, target: str, runs: list[str]) -> Counter[str]:
    told: Counter[str] = Counter()
    with Vault(folder, target) as vault:
        vault.store.now_ms()
        for run in runs:
            told[_raced(vault, vault.guard.authorize("balance", "{}", **call(run)), barrier)] += 1
    return told


def _budgets(barrier: Any, number: int, vault_at: tuple[Path, str], runs: list[str], lasts: int) -> Counter[str]:
    told: Counter[str] = Counter()
    with Vault(*vault_at, calls_per_run=lasts) as vault:
        vault.store.now_ms()
        for run in runs:
            barrier.wait(WAIT_SECONDS)
            small = '{"to": "A7", "amount": 1}'  # allowed, and not marked once: only the budget is in its way
            told[said(vault.guard.call("transfer", small, **call(run, number)))] += 1
    return told


def _raced(vault: Vault, decided: Any, barrier: Any) -> str:
    """Execute what was allowed, together with the others."""
    permit = getattr(decided, "permit", None)
    barrier.wait(WAIT_SECONDS)
    execute: Callable[[object], Any] = vault.guard.execute
    return f"no permit: {decided.code}" if permit is None else said(execute(permit))
