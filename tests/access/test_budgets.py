"""Budgets: one atomic reserve, never overspent, given back only by a call whose handler was never entered."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.access.budgets import BatchBudgetLedger, BudgetLedger, BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.gate import AccessGranted, AccessRefused, ToolMetadata
from aioc_opa.access.sql_budgets import SqlBudgetLedger
from aioc_opa.errors import ApprovalStoreError, ConfigurationError
from tests.access.gating import Gate, answering, question
from tests.access.races import KEY, process_races, thread_races

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryBudgetLedger()
        return
    target = tmp_path / "b.db" if request.param == "sqlite" else request.getfixturevalue("postgres_schema_url")
    made = SqlBudgetLedger.open(target)
    yield made
    made.close()


def test_it_reserves_up_to_the_limit_and_takes_back_down_to_nothing(ledger: BudgetLedger) -> None:
    assert isinstance(ledger, BudgetLedger)
    assert ledger.reserve(KEY, 3, 5)
    assert not ledger.reserve(KEY, 3, 5)
    assert ledger.reserve(KEY, 2, 5)
    assert not ledger.reserve(KEY, 1, 5)
    ledger.give_back(KEY, 4)
    assert ledger.reserve(KEY, 4, 5)
    ledger.give_back(KEY, 1000)
    assert ledger.reserve(KEY, 5, 5)
    assert not ledger.reserve("1" * 64, 6, 5)
    assert not ledger.reserve("2" * 64, -1, 5)
    ledger.give_back("3" * 64, 1)
    assert not ledger.reserve("3" * 64, 1, 0)


def test_threads_that_race_never_overspend(ledger: BudgetLedger) -> None:
    attempts = 2000 if isinstance(ledger, MemoryBudgetLedger) else 200
    assert thread_races(ledger, attempts=attempts, limit=attempts // 4) == attempts // 4


def test_processes_that_race_on_sqlite_never_overspend(tmp_path: Path) -> None:
    assert process_races(str(tmp_path / "b.db"), attempts=200, limit=50) == 50


def test_processes_that_race_on_postgresql_never_overspend(postgres_schema_url: str) -> None:
    assert process_races(postgres_schema_url, attempts=200, limit=50) == 50


def test_a_sql_ledger_keeps_what_was_spent_and_forgets_when_it_is_told(tmp_path: Path) -> None:
    first = SqlBudgetLedger.open(tmp_path / "b.db")
    assert first.reserve(KEY, 5, 5)
    first.close()
    second = SqlBudgetLedger.open(tmp_path / "b.db")
    assert not second.reserve(KEY, 1, 5)
    assert second.forget(3600) == 0
    assert second.forget(-1) == 1
    assert second.reserve(KEY, 5, 5)
    second.close()
    with pytest.raises(ApprovalStoreError):
        second.reserve(KEY, 1, 5)


def limited(ledger: Any = None, **limits: Any) -> Gate:
    return Gate(budgets=Budgets(ledger or MemoryBudgetLedger(), BudgetLimits(**limits)))


def asked(run: str = "run-1", cost: int = 1, **changes: Any) -> Any:
    return question(run_id=run, registered=ToolMetadata(name="refund", cost=cost), **changes)


def test_calls_and_cost_of_a_run_and_cost_of_an_identity_are_limited(ledger: BudgetLedger) -> None:
    calls = limited(ledger, calls_per_run=1)
    assert type(calls.ask(asked("a", cost=16))) is AccessGranted
    assert calls.refused(asked("a")) == ("budget_exceeded", "calls_per_run")
    assert type(calls.ask(asked("b"))) is AccessGranted
    cost = limited(ledger, cost_per_run=5)
    assert type(cost.ask(asked("c", cost=5))) is AccessGranted
    assert cost.refused(asked("c")) == ("budget_exceeded", "cost_per_run")
    identity = limited(ledger, cost_per_identity=5)
    assert type(identity.ask(asked("d", cost=5))) is AccessGranted
    assert identity.refused(asked("e")) == ("budget_exceeded", "cost_per_identity")


def test_a_limit_that_refuses_leaves_the_other_limits_unspent() -> None:
    ledger = MemoryBudgetLedger()
    gate = limited(ledger, calls_per_run=10, cost_per_run=10, cost_per_identity=1)
    assert gate.refused(asked(cost=2)) == ("budget_exceeded", "cost_per_identity")
    assert {spent for spent, _ in ledger._spent.values()} == {0}


def test_several_limits_are_one_step_in_a_sql_ledger_and_the_one_that_refuses_leaves_the_rest(tmp_path: Path) -> None:
    ledger = SqlBudgetLedger.open(tmp_path / "b.db")
    assert isinstance(ledger, BatchBudgetLedger)
    assert not isinstance(MemoryBudgetLedger(), BatchBudgetLedger)
    gate = limited(ledger, calls_per_run=10, cost_per_run=2, cost_per_identity=10)
    assert gate.refused(asked(cost=3)) == ("budget_exceeded", "cost_per_run")
    granted = gate.ask(asked(cost=2))
    assert type(granted) is AccessGranted
    assert granted.reservation is not None
    granted.reservation.release()
    assert type(gate.ask(asked(cost=2))) is AccessGranted
    tight = limited(ledger, calls_per_run=2, cost_per_identity=12)  # one call and two units are spent
    assert type(tight.ask(asked(cost=10))) is AccessGranted
    assert tight.refused(asked(cost=1))[0] == "budget_exceeded"
    ledger.close()


def test_a_sql_ledger_that_cannot_take_back_leaves_it_spent_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = SqlBudgetLedger.open(tmp_path / "b.db")
    granted = limited(ledger, calls_per_run=1).ask(asked())
    ledger.close()
    assert type(granted) is AccessGranted
    assert granted.reservation is not None
    granted.reservation.release()
    assert "stays spent" in caplog.text


def test_it_is_given_back_once_and_only_when_the_call_says_so() -> None:
    gate = limited(calls_per_run=1)
    granted = gate.ask(asked())
    assert type(granted) is AccessGranted
    assert granted.reservation is not None
    assert gate.refused(asked())[0] == "budget_exceeded"
    granted.reservation.release()
    again = gate.ask(asked())
    assert type(again) is AccessGranted
    granted.reservation.release()  # a second time gives nothing back
    granted.reservation.release_elsewhere()
    assert gate.refused(asked())[0] == "budget_exceeded"


def test_what_is_refused_by_policy_or_a_person_costs_nothing() -> None:
    ledger = MemoryBudgetLedger()
    budgets = Budgets(ledger, BudgetLimits(calls_per_run=1))
    for decision in ("deny", "approval_required"):
        assert Gate(budgets=budgets, adapter=answering(decision)).refused(asked())[0] == "tool_not_authorized"
    assert type(Gate(budgets=budgets).ask(asked())) is AccessGranted


def test_limits_of_a_run_count_for_nothing_on_a_made_up_run_id_so_it_is_refused() -> None:
    assert limited(calls_per_run=9).refused(asked(run_id_given=False)) == ("budget_exceeded", "run_id_missing")
    assert limited(cost_per_run=9).refused(asked(run_id_given=False)) == ("budget_exceeded", "run_id_missing")
    assert type(limited(cost_per_identity=9).ask(asked(run_id_given=False))) is AccessGranted


def test_an_identity_starts_anew_with_each_window_and_tenants_are_apart() -> None:
    now = [1000.0]
    budgets = Budgets(MemoryBudgetLedger(), BudgetLimits(cost_per_identity=1, window_seconds=60), clock=lambda: now[0])
    gate = Gate(budgets=budgets)
    assert type(gate.ask(asked())) is AccessGranted
    assert gate.refused(asked())[0] == "budget_exceeded"
    now[0] += 60
    assert type(gate.ask(asked())) is AccessGranted
    keys = {
        charge.key
        for tenant in (None, "a", "b")
        for charge in budgets.charges(tenant=tenant, identity="kim", run_id="r", cost=1)
    }
    assert len(keys) == 3
    assert all(len(key) == 64 for key in keys)  # digests: a ledger learns no name


def test_the_deadline_of_step_1_is_a_budget_too() -> None:
    hang = threading.Event()
    seen: list[float] = []

    class Slow:
        def authorize_sync(self, request: Any) -> object:
            seen.append(request.deadline_seconds)
            return hang.wait(0.3)

    gate = Gate(adapter=Slow(), budgets=Budgets(MemoryBudgetLedger(), BudgetLimits(deadline_seconds=0.05)))
    assert gate.refused(seconds=200) == ("access_deadline_exceeded", "deadline")
    assert seen[0] <= 0.05


class Faulty:
    """A ledger that breaks, lies or hangs."""

    def __init__(self, reserve: Any, *, blocks: bool) -> None:
        self._reserve = reserve
        self.blocks = blocks
        self.given_back = threading.Event()

    def reserve(self, key: str, cost: int, limit: int) -> Any:
        return self._reserve()

    def give_back(self, key: str, cost: int) -> None:
        self.given_back.set()
        raise OSError("secret")


@pytest.mark.parametrize("blocks", [True, False])
async def test_a_ledger_that_fails_or_lies_is_a_refusal(blocks: bool) -> None:
    for reserve, code in ((lambda: 1 / 0, "budget_unavailable"), (lambda: 1, "calls_per_run")):
        gate = limited(Faulty(reserve, blocks=blocks), calls_per_run=1)
        assert gate.refused(asked()) == ("budget_exceeded", code)
        outcome = await gate.ask_async(asked())
        assert type(outcome) is AccessRefused
        assert outcome.detail_code == code


async def test_a_reservation_that_comes_late_is_given_back(caplog: pytest.LogCaptureFixture) -> None:
    for ask in ("refused", "ask_async"):
        go = threading.Event()
        ledger = Faulty(lambda go=go: go.wait(30), blocks=True)
        gate = limited(ledger, calls_per_run=1)
        outcome = getattr(gate, ask)(asked(), seconds=0.03)
        outcome = await outcome if ask == "ask_async" else outcome
        go.set()
        assert await asyncio.to_thread(ledger.given_back.wait, 30)
    assert outcome.detail_code == "deadline"


def test_a_reservation_that_comes_just_too_late_is_given_back_too() -> None:
    ledger = Faulty(lambda: not threading.Event().wait(0.05), blocks=False)
    assert limited(ledger, calls_per_run=1).refused(asked(), seconds=0.02)[1] == "deadline"
    assert ledger.given_back.is_set()


async def test_a_cancelled_call_gives_back_without_blocking_the_loop(tmp_path: Path) -> None:
    ledger = SqlBudgetLedger.open(tmp_path / "b.db")
    waiting = asyncio.Event()

    class Waiting:
        async def request_approval(self, request: object) -> object:
            waiting.set()
            await asyncio.sleep(30)
            return None

    budgets = Budgets(ledger, BudgetLimits(calls_per_run=1))
    gate = Gate(budgets=budgets, adapter=answering("approval_required"), approvals=Waiting())
    asking = asyncio.create_task(gate.ask_async(asked()))
    await waiting.wait()
    assert type(await gate.ask_async(asked())) is AccessRefused
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    for thread in threading.enumerate():
        if thread.name == "aioc-opa-access-release":
            await asyncio.to_thread(thread.join, 30)
    assert type(await Gate(budgets=budgets).ask_async(asked())) is AccessGranted
    ledger.close()


def test_a_memory_ledger_is_bounded_and_forgets_what_is_idle() -> None:
    ledger = MemoryBudgetLedger(max_keys=2)
    assert ledger.reserve("a", 1, 9)
    assert ledger.reserve("b", 1, 9)
    assert not ledger.reserve("c", 1, 9)
    assert ledger.reserve("a", 1, 9)
    forgetful = MemoryBudgetLedger(idle_seconds=0)
    assert forgetful.reserve("a", 9, 9)
    assert forgetful.reserve("a", 9, 9)


def test_budgets_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="idle_seconds"):
        Budgets(MemoryBudgetLedger(idle_seconds=10), BudgetLimits(cost_per_identity=1))
    for make in (
        lambda: Budgets(object(), BudgetLimits()),  # type: ignore[arg-type] # that is the point
        lambda: Budgets(MemoryBudgetLedger(), {"calls_per_run": 1}),  # type: ignore[arg-type] # likewise
        lambda: BudgetLimits(calls_per_run=-1),
        lambda: BudgetLimits(cost_per_run=True),
        lambda: BudgetLimits(cost_per_identity=1.5),  # type: ignore[arg-type] # likewise
        lambda: BudgetLimits(window_seconds=0),
        lambda: BudgetLimits(deadline_seconds=0),
        lambda: BudgetLimits(deadline_seconds=301),
    ):
        with pytest.raises(ConfigurationError):
            make()
