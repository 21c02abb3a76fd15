"""Many threads, and many processes, that spend from one budget at once. The suite runs few; `make torture` runs many."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from aioc_opa.access.sql_budgets import SqlBudgetLedger

if TYPE_CHECKING:
    from aioc_opa.access.budgets import BudgetLedger

KEY = "0" * 64


def thread_races(ledger: BudgetLedger, *, attempts: int, limit: int, threads: int = 8, key: str = KEY) -> int:
    """How many of `attempts` reservations of one unit were made, by threads that all start at once."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda _: ledger.reserve(key, 1, limit), range(attempts)))


def process_races(target: str, *, attempts: int, limit: int, processes: int = 2, key: str = KEY) -> int:
    """The same by processes, each with half a dozen threads, on the database at `target`."""
    each = attempts // processes
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return sum(pool.starmap(_spend, [(target, each, limit, key)] * processes))


def _spend(target: str, attempts: int, limit: int, key: str) -> int:
    ledger = SqlBudgetLedger.open(target)
    try:
        return thread_races(ledger, attempts=attempts, limit=limit, threads=6, key=key)
    finally:
        ledger.close()
