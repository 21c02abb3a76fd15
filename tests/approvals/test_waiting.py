"""Waiting in line for a decision: finite, outside the decision's deadline, cancelled without a trace left pending."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from aioc_opa import ConfigurationError, RunContext
from aioc_opa.approvals import waiting
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.desk import Desk, Watched
from tests.approvals.treasury import BIG, CALL, RUN, Treasury

FROZEN = RunContext(run_id="run-1", context={"frozen": True})


@pytest.fixture
def desk(kind: str, treasury_engines: Any) -> Desk:
    store = Watched(MemoryApprovalStore())
    return Desk(Treasury(engine=treasury_engines["embedded"], store=store), kind)  # type: ignore[arg-type] # a watched store


def while_waiting(desk: Desk, act: Any) -> None:
    """`act(approval id)` from another thread, once the request is there."""

    def later() -> None:
        for _ in range(2000):
            found = desk.treasury.broker.find(None)
            if found:
                act(found[0].approval_id)
                return
            time.sleep(0.005)

    threading.Thread(target=later).start()


def state_of(desk: Desk) -> ApprovalState:
    (record,) = desk.treasury.broker.find(None, frozenset(ApprovalState))
    return record.state


def test_approved_while_waiting_the_call_runs_once(desk: Desk) -> None:
    while_waiting(desk, desk.treasury.vote)
    assert desk.call(wait=20) == "moved 500.0 to A7"
    assert desk.ran == [("A7", 500.0)]
    assert state_of(desk) is ApprovalState.COMPLETED


def test_rejected_while_waiting_the_call_is_denied(desk: Desk) -> None:
    while_waiting(desk, lambda approval_id: desk.treasury.vote(approval_id, verdict="rejected"))
    assert desk.call(wait=20).code == "approval_rejected"
    assert desk.ran == []


def test_a_wait_that_runs_out_expires_the_request(desk: Desk) -> None:
    assert desk.call(wait=0.05).code == "approval_timed_out"
    assert state_of(desk) is ApprovalState.EXPIRED
    assert desk.ran == []


def test_a_decision_in_the_last_moment_counts_and_not_the_time_out(desk: Desk) -> None:
    def rejects_first(*_: Any) -> None:
        desk.treasury.store.after.clear()  # type: ignore[attr-defined] # a watched store

    (wanted,) = [desk.held()]
    desk.treasury.store.after["get"] = rejects_first  # type: ignore[attr-defined] # likewise
    desk.treasury.vote(wanted, verdict="rejected")
    assert desk.call(wait=0.05).code == "approval_rejected"


def test_waiting_is_outside_the_deadline_of_a_decision(kind: str, treasury_engines: Any) -> None:
    treasury = Treasury(engine=treasury_engines["embedded"], store=MemoryApprovalStore())
    desk = Desk(treasury, kind, deadline=0.5)

    def late(approval_id: str) -> None:
        time.sleep(0.7)
        treasury.vote(approval_id)

    while_waiting(desk, late)
    assert desk.call(wait=20) == "moved 500.0 to A7"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_run_context_is_renewed_after_the_wait(desk: Desk, asynchronous: bool) -> None:
    def renewed() -> Any:
        if asynchronous and desk.kind == "async":

            async def later() -> RunContext:
                return FROZEN

            return later()
        return FROZEN

    while_waiting(desk, desk.treasury.vote)
    assert desk.call(wait=20, renew_run_context=renewed).code == "accounts_frozen"
    assert desk.ran == []


def test_a_context_that_cannot_be_renewed_denies(desk: Desk) -> None:
    def broken() -> RunContext:
        raise RuntimeError("secret")

    while_waiting(desk, desk.treasury.vote)
    assert desk.call(wait=20, renew_run_context=broken).code == "approval_unavailable"
    assert desk.ran == []


def test_a_store_that_fails_while_the_call_waits_denies_and_leaves_the_request(desk: Desk) -> None:
    store: Any = desk.treasury.store
    store.after["open"] = lambda: store.failing.update(get=ApprovalStoreError("down"))
    assert desk.call(wait=20).code == "approval_unavailable"
    store.failing.clear()
    assert state_of(desk) is ApprovalState.PENDING


@pytest.mark.parametrize("wait", [0, -1, True, "5", 10**9, float("nan")])
def test_a_wait_that_is_no_number_of_seconds_is_refused(desk: Desk, wait: Any) -> None:
    with pytest.raises(ConfigurationError, match="wait"):
        desk.call(wait=wait)


def test_there_is_nothing_to_wait_for_without_approvals(kind: str, treasury: Treasury) -> None:
    with pytest.raises(ConfigurationError, match="approvals"):
        Desk(treasury, kind, approvals=None).call(wait=1)


@pytest.mark.parametrize("failing", [False, True])
def test_an_interrupt_dismisses_the_request_and_is_never_swallowed(
    treasury_engines: Any, monkeypatch: pytest.MonkeyPatch, failing: bool
) -> None:
    store = Watched(MemoryApprovalStore())
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=store))  # type: ignore[arg-type] # a watched store

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(waiting.time, "sleep", interrupt)
    if failing:
        store.failing["end"] = ApprovalStoreError("down")
    with pytest.raises(KeyboardInterrupt):
        desk.call(wait=20)
    assert state_of(desk) is (ApprovalState.PENDING if failing else ApprovalState.DISMISSED)


@pytest.mark.parametrize("failing", [False, True])
async def test_cancelling_dismisses_the_request_and_is_never_swallowed(treasury_engines: Any, failing: bool) -> None:
    store = Watched(MemoryApprovalStore())
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=store), "async")  # type: ignore[arg-type] # a watched store
    if failing:
        store.failing["end"] = ApprovalStoreError("down")
    loop, stored = asyncio.get_running_loop(), asyncio.Event()
    # The wait's first look comes after the request is stored.
    store.after["get"] = lambda: loop.call_soon_threadsafe(stored.set)
    task = asyncio.ensure_future(desk.guard.call("transfer", BIG, **CALL, wait=20))
    await stored.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert state_of(desk) is (ApprovalState.PENDING if failing else ApprovalState.DISMISSED)
    assert desk.ran == []


async def test_waiting_costs_the_event_loop_nothing(treasury_engines: Any) -> None:
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=MemoryApprovalStore()), "async")
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticker = asyncio.ensure_future(ticking())
    outcome = await desk.guard.call("transfer", BIG, **CALL, wait=0.2)
    ticker.cancel()
    assert outcome.code == "approval_timed_out"
    assert ticks > 100


def test_a_dismissed_request_and_one_that_is_gone_are_unavailable(desk: Desk) -> None:
    def dismissed(approval_id: str) -> None:
        desk.treasury.store.end("acme", approval_id, ApprovalEvent.DISMISS, "p-tess", "not needed")

    while_waiting(desk, dismissed)
    assert desk.call(wait=20, run_context=RUN).code == "approval_unavailable"
