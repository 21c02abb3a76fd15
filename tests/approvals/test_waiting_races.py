"""What a wait meets at its edges: a vote that lands while it ends, a request that is not made yet, a lost connection."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import make_url

from aioc_opa.approvals import waiting
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.desk import Desk, Watched
from tests.approvals.treasury import BIG, CALL, Treasury

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine

S = ApprovalState


@pytest.fixture
def watched() -> Watched:
    return Watched(MemoryApprovalStore())


@pytest.fixture
def desk(watched: Watched, kind: str, treasury_engines: dict[str, Engine]) -> Desk:
    return Desk(Treasury(engine=treasury_engines["embedded"], store=watched), kind)  # type: ignore[arg-type] # a watched store


@pytest.fixture
def async_desk(watched: Watched, treasury_engines: dict[str, Engine]) -> Desk:
    return Desk(Treasury(engine=treasury_engines["embedded"], store=watched), "async")  # type: ignore[arg-type] # likewise


def record_of(desk: Desk) -> Any:
    (record,) = desk.treasury.broker.find(None, frozenset(ApprovalState))
    return record


@pytest.mark.parametrize(
    ("verdict", "code", "state"),
    [("approved", "approval_timed_out", S.EXPIRED), ("rejected", "approval_rejected", S.REJECTED)],
)
def test_a_vote_between_the_last_look_and_the_end_of_the_wait_is_decided_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, verdict: str, code: str, state: ApprovalState
) -> None:
    ran_out = waiting._ran_out

    def after_a_vote(*arguments: Any) -> waiting.Waited:
        desk.treasury.vote(arguments[2], verdict=verdict)
        return ran_out(*arguments)

    monkeypatch.setattr(waiting, "_ran_out", after_a_vote)
    assert desk.call(wait=0.01).code == code
    assert (record_of(desk).state, desk.ran) == (state, [])
    # Nobody waits any more, so nothing runs later either.
    assert desk.resume(record_of(desk).approval_id).status == "denied"


def test_a_vote_that_lands_as_the_wait_is_interrupted_runs_nothing(
    watched: Watched, treasury_engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=watched))  # type: ignore[arg-type] # a watched store

    def interrupted(_: float) -> None:
        assert desk.treasury.vote(record_of(desk).approval_id).state is S.APPROVED
        raise KeyboardInterrupt

    monkeypatch.setattr(waiting.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        desk.call(wait=20)
    assert (record_of(desk).state, desk.ran) == (S.DISMISSED, [])


async def test_a_vote_that_lands_as_the_wait_is_cancelled_runs_nothing(async_desk: Desk, watched: Watched) -> None:
    desk, loop, looked = async_desk, asyncio.get_running_loop(), asyncio.Event()
    desk.treasury.broker.poll_seconds = 60.0  # type: ignore[misc] # so that it looks once
    watched.after["get"] = lambda: loop.call_soon_threadsafe(looked.set)
    task = asyncio.ensure_future(desk.guard.call("transfer", BIG, **CALL, wait=600))
    await looked.wait()
    watched.after.clear()
    approval_id = record_of(desk).approval_id
    assert (await asyncio.to_thread(desk.treasury.vote, approval_id)).state is S.APPROVED
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (record_of(desk).state, desk.ran) == (S.DISMISSED, [])


async def test_who_cancels_twice_waits_for_nothing_and_the_request_is_dismissed(
    async_desk: Desk, watched: Watched
) -> None:
    desk, loop, looked, ending = async_desk, asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    go = threading.Event()
    watched.after["get"] = lambda: loop.call_soon_threadsafe(looked.set)
    task = asyncio.ensure_future(desk.guard.call("transfer", BIG, **CALL, wait=600))
    await looked.wait()

    def slowly() -> None:
        loop.call_soon_threadsafe(ending.set)
        go.wait(60)

    watched.after["end"] = slowly
    task.cancel()
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert record_of(desk).state is S.DISMISSED


@pytest.mark.parametrize("failing", [False, True])
async def test_a_call_that_is_cancelled_while_its_request_is_made_leaves_none_pending(
    async_desk: Desk, watched: Watched, caplog: pytest.LogCaptureFixture, failing: bool
) -> None:
    desk, loop, made = async_desk, asyncio.get_running_loop(), asyncio.Event()
    go = threading.Event()

    def slowly() -> None:
        loop.call_soon_threadsafe(made.set)
        go.wait(60)

    watched.after["open"] = slowly
    if failing:
        watched.failing["end"] = ApprovalStoreError("down")
    task = asyncio.ensure_future(desk.guard.call("transfer", BIG, **CALL, wait=20))
    await made.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await loop.shutdown_default_executor()
    assert record_of(desk).state is (S.PENDING if failing else S.DISMISSED)
    assert ("stays pending (ApprovalStoreError)" in caplog.text) is failing


async def test_a_call_that_is_cancelled_as_its_request_has_been_made_leaves_none_pending(
    async_desk: Desk, watched: Watched
) -> None:
    desk = async_desk
    loop, opened, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    watched.after["open"] = lambda: loop.call_soon_threadsafe(opened.set)
    watched.after["end"] = ended.set
    task = asyncio.ensure_future(desk.guard.call("transfer", BIG, **CALL, wait=20))
    await opened.wait()
    task.cancel()  # whether the thread is over or not, nobody has been told of the request
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await loop.run_in_executor(None, ended.wait, 60)
    assert record_of(desk).state is S.DISMISSED


async def test_a_request_that_was_there_before_is_not_dismissed_with_a_second_call(
    async_desk: Desk, watched: Watched
) -> None:
    desk, loop, made = async_desk, asyncio.get_running_loop(), asyncio.Event()
    first = await desk.guard.authorize("transfer", BIG, **CALL)
    go = threading.Event()

    def slowly() -> None:
        loop.call_soon_threadsafe(made.set)
        go.wait(60)

    watched.after["open"] = slowly
    task = asyncio.ensure_future(desk.guard.authorize("transfer", BIG, **CALL))
    await made.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await loop.shutdown_default_executor()
    assert (record_of(desk).approval_id, record_of(desk).state) == (first.approval_id, S.PENDING)


def test_a_wait_goes_on_over_a_lost_connection(
    postgres_schema_url: str, treasury_engines: dict[str, Engine], kind: str
) -> None:
    url = make_url(postgres_schema_url).update_query_dict({"application_name": f"waiting-{kind}"})
    with closing(open_store(url.render_as_string(hide_password=False))) as store:
        watched = Watched(store)
        desk = Desk(Treasury(engine=treasury_engines["embedded"], store=watched), kind)  # type: ignore[arg-type] # likewise
        looks = 0

        def lose_it() -> None:
            nonlocal looks
            looks += 1
            if looks == 1:
                with psycopg.connect(postgres_schema_url, autocommit=True) as owner:
                    gone = owner.execute(
                        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = %s",
                        [f"waiting-{kind}"],
                    ).fetchall()
                    assert gone
            elif looks == 3:
                watched.after.clear()
                desk.treasury.vote(record_of(desk).approval_id)

        watched.after["get"] = lose_it
        assert desk.call(wait=60) == "moved 500.0 to A7"
        assert looks == 3
