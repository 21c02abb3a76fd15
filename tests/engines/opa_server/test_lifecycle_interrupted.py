"""Connections when a question is cancelled, interrupted, forked or closed under way."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import http_async, pool
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.http_socket import SocketConnection
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from tests.engines.opa_server.test_real_opa import body, rule
from tests.hostile.server import Exchange, HostileServer

if TYPE_CHECKING:
    from tests.opa_process import OpaProcess
from tests.engines.opa_server.lifecycle_cases import LONG, echo


async def test_cancelling_closes_the_connection_and_the_next_question_gets_its_own_answer(opa: OpaProcess) -> None:
    async with AsyncOpaServerEngine(opa.url, max_connections=1) as engine:
        for number in range(10):
            slow = asyncio.create_task(engine.evaluate_async(rule("slow"), body(), Deadline.after(LONG)))
            await asyncio.sleep(0.002 * number)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            question = body(request_id=f"r{number}")
            assert echo(await engine.evaluate_async(TOOL_POLICY_PATH, question, Deadline.after(LONG))) == f"r{number}"


async def test_bytes_that_come_while_nothing_is_asked_close_the_connection() -> None:
    def answer_and_say_more(exchange: Exchange) -> bool:
        exchange.respond(exchange.answer())
        exchange.wait(0.02)
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        return True

    with HostileServer() as server:
        async with AsyncOpaServerEngine(server.url) as engine:
            server.next_fault(answer_and_say_more)
            await engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG))
            idle = engine._pool()._idle[0]
            while not idle._lost:  # noqa: ASYNC110 - set by the loop when the bytes come
                await asyncio.sleep(0.005)
            answer = await engine.evaluate_async(TOOL_POLICY_PATH, body(request_id="r2"), Deadline.after(LONG))
            assert echo(answer) == "r2"
            assert server.connections == 2


async def test_a_connection_that_is_lost_before_the_question_does_not_take_it() -> None:
    with pytest.raises(ConnectionResetError):
        await http_async.AsyncConnection(asyncio.get_running_loop()).exchange(b"", 1, Deadline.after(LONG))


async def test_cancelled_while_connecting_leaves_nothing_behind(opa: OpaProcess) -> None:
    async with AsyncOpaServerEngine(opa.url, max_connections=1) as engine:
        for turns in range(8):
            task = asyncio.create_task(engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG)))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert echo(await engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG))) == "r1"
    gc.collect()  # an unclosed socket or transport would warn, and a warning is an error here


def test_an_interrupt_in_the_middle_closes_the_connection(opa: OpaProcess) -> None:
    class InterruptError(BaseException):
        pass

    def interrupt(*_: object) -> None:
        raise InterruptError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with OpaServerEngine(opa.url, max_connections=1) as engine:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(InterruptError):
                engine.evaluate(rule("slow"), body(), Deadline.after(LONG))
            assert not engine._pool._idle
            assert echo(engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG))) == "r1"
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_while_a_connection_is_chosen_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> bool:
        raise KeyboardInterrupt

    with HostileServer() as server, OpaServerEngine(server.url, max_connections=1) as engine:
        assert engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG)).result
        with monkeypatch.context() as patched:
            patched.setattr(SocketConnection, "is_stale", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG))
        gc.collect()
        assert engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG)).result


def test_signals_that_return_do_not_stretch_the_deadline(opa: OpaProcess) -> None:
    """A profiler's timer interrupts each system call; the wait goes on with what is left, not from the start."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with OpaServerEngine(opa.url) as engine, pytest.raises(EngineFailureError) as caught:
            engine.evaluate(rule("slow"), body(), Deadline.after(0.1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught.value.reason is Reason.POLICY_TIMEOUT


def _ask_in_child(engine: OpaServerEngine, results: Any) -> None:
    answers = [engine.evaluate(TOOL_POLICY_PATH, body(request_id=f"c{n}"), Deadline.after(LONG)) for n in range(20)]
    results.put([echo(answer) for answer in answers])


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")  # the server's own thread
def test_a_forked_child_has_connections_of_its_own() -> None:
    context = multiprocessing.get_context("fork")
    with HostileServer() as server, OpaServerEngine(server.url, max_connections=1) as engine:
        assert echo(engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG))) == "r1"
        results = context.Queue()
        child = context.Process(target=_ask_in_child, args=(engine, results))
        child.start()
        for number in range(20):
            question = body(request_id=f"p{number}")
            assert echo(engine.evaluate(TOOL_POLICY_PATH, question, Deadline.after(LONG))) == f"p{number}"
        assert results.get(timeout=LONG) == [f"c{number}" for number in range(20)]
        child.join()
        assert server.connections == 2


def test_what_a_child_forgets_is_closed_in_the_child_only() -> None:
    with HostileServer() as server, OpaServerEngine(server.url, max_connections=1) as engine:
        assert echo(engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG))) == "r1"
        pool._forget_in_child()
        assert not engine._pool._idle
        assert echo(engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(LONG))) == "r1"
        assert server.connections == 2


def test_closing_while_a_question_is_in_flight_answers_it_and_keeps_nothing() -> None:
    release = threading.Event()

    def answer_later(exchange: Exchange) -> bool:
        release.wait()
        exchange.respond(exchange.answer())
        return True

    with HostileServer() as server, ThreadPoolExecutor(1) as threads:
        engine = OpaServerEngine(server.url)
        server.next_fault(answer_later)
        pending = threads.submit(engine.evaluate, TOOL_POLICY_PATH, body(), Deadline.after(LONG))
        while not server.questions:
            time.sleep(0.005)
        engine.close()
        release.set()
        assert echo(pending.result()) == "r1"
        assert not engine._pool._idle


async def test_closing_while_a_task_is_in_flight_answers_it_and_keeps_nothing() -> None:
    release = threading.Event()

    def answer_later(exchange: Exchange) -> bool:
        release.wait()
        exchange.respond(exchange.answer())
        return True

    with HostileServer() as server:
        engine = AsyncOpaServerEngine(server.url)
        server.next_fault(answer_later)
        pending = asyncio.create_task(engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG)))
        while not server.questions:  # noqa: ASYNC110 - the server is another thread
            await asyncio.sleep(0.005)
        await engine.aclose()
        release.set()
        assert echo(await pending) == "r1"
        await asyncio.sleep(0)


def test_an_async_engine_can_be_used_from_one_loop_after_another(opa: OpaProcess) -> None:
    engine = AsyncOpaServerEngine(opa.url)

    async def ask_and_close() -> object:
        answer = await engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG))
        engine._pool().close()
        await asyncio.sleep(0)
        return echo(answer)

    assert asyncio.run(ask_and_close()) == "r1"
    assert asyncio.run(ask_and_close()) == "r1"
    assert len(engine._pools) == 1  # that of the loop which ended has been dropped
    asyncio.run(engine.aclose())


def test_closing_from_another_loop_closes_what_the_first_holds(opa: OpaProcess) -> None:
    engine = AsyncOpaServerEngine(opa.url)
    used, closed = threading.Event(), threading.Event()

    async def use() -> None:
        await engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG))
        pool_here = engine._pool()
        used.set()
        while not closed.is_set() or pool_here._idle:  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.005)
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: asyncio.run(use()))
    thread.start()
    used.wait()
    asyncio.run(engine.aclose())
    closed.set()
    thread.join(LONG)
    assert not thread.is_alive()


@pytest.mark.parametrize("engine_class", [OpaServerEngine, AsyncOpaServerEngine])
def test_the_name_is_opa_and_the_repr_shows_the_address_but_no_token(engine_class: type[Any]) -> None:
    engine = engine_class("http://127.0.0.1:8181", token="s3cret")
    assert engine.name == "opa"
    assert repr(engine) == f"{engine_class.__name__}('http://127.0.0.1:8181')"
    assert "s3cret" not in json.dumps([repr(engine), repr(engine._settings)])
