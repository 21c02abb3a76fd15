"""Connections: reused, replaced when stale, never shared with a child process, closed when in doubt."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import http_async, pool
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.http_socket import SocketConnection
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from tests.engines.opa_server.conftest import POLICY
from tests.engines.opa_server.test_real_opa import body, rule
from tests.hostile.faults import accept_and_hang
from tests.hostile.server import Exchange, HostileServer
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.core.engine_answer import EngineAnswer
    from tests.engines.opa_server.edges import SyncEdge

LONG = 20.0


def echo(answer: EngineAnswer) -> object:
    assert isinstance(answer.result, dict)
    return answer.result["requestId"]


def close_after_answer(exchange: Exchange) -> None:
    exchange.respond(exchange.answer())


def connection_close(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer(), headers=b"Connection: close\r\n")
    return True


def http_1_0(exchange: Exchange) -> bool:
    answer = exchange.answer()
    exchange.send(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    return True


def interim_responses_first(exchange: Exchange) -> bool:
    exchange.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    exchange.respond(exchange.answer())
    return True


def test_one_connection_serves_many_questions(edge: type[SyncEdge]) -> None:
    with HostileServer() as server, edge(server.url) as asked:
        for number in range(5):
            assert echo(asked.ask(body(request_id=f"r{number}"))) == f"r{number}"
        assert server.connections == 1


def test_interim_responses_are_skipped(edge: type[SyncEdge]) -> None:
    with HostileServer() as server, edge(server.url) as asked:
        server.next_fault(interim_responses_first)
        assert echo(asked.ask(body())) == "r1"
        assert echo(asked.ask(body())) == "r1"
        assert server.connections == 1


@pytest.mark.parametrize("last", [close_after_answer, connection_close, http_1_0])
def test_a_connection_that_ends_after_its_answer_is_not_used_again(
    edge: type[SyncEdge], last: Callable[[Exchange], bool | None]
) -> None:
    with HostileServer() as server, edge(server.url) as asked:
        server.next_fault(last)
        assert echo(asked.ask(body())) == "r1"
        time.sleep(0.05)  # the end arrives while the connection is idle
        assert echo(asked.ask(body(request_id="r2"))) == "r2"
        assert server.connections == 2
        assert len(server.questions) == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    edge: type[SyncEdge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAX_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(http_async, "MAX_IDLE_SECONDS", 0.0)
    with HostileServer() as server, edge(server.url) as asked:
        assert asked.ask(body()).result
        assert asked.ask(body()).result
        assert server.connections == 2


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_the_pool_survives_a_restart_of_opa_without_a_denied_call(
    opa_binary: Path, tmp_path: Path, edge: type[SyncEdge], signal_number: signal.Signals, *, unix: bool
) -> None:
    opa = OpaProcess(opa_binary, tmp_path, policies={"policy.rego": POLICY}, unix=unix)
    with opa, edge(opa.url) as asked:
        for number in range(3):
            assert echo(asked.ask(body(request_id=f"r{number}"))) == f"r{number}"
            opa.stop(signal_number)
            assert asked.failure(body()) is Reason.POLICY_UNAVAILABLE
            opa.restart()


def test_a_restart_between_two_questions_is_not_noticed(opa_binary: Path, tmp_path: Path, edge: type[SyncEdge]) -> None:
    with OpaProcess(opa_binary, tmp_path, policies={"policy.rego": POLICY}) as opa, edge(opa.url) as asked:
        for _ in range(3):
            assert asked.ask(body()).result
            opa.restart()


def test_32_threads_get_their_own_answers(opa: OpaProcess) -> None:
    with OpaServerEngine(opa.url) as engine, ThreadPoolExecutor(32) as threads:

        def ask(number: int) -> bool:
            turn = 500 if number % 7 == 0 else 1
            question = body(request_id=f"r{number}", turn=turn)
            return echo(engine.evaluate(rule("padded"), question, Deadline.after(LONG))) == f"r{number}"

        assert all(threads.map(ask, range(640)))
        assert len(engine._pool._idle) <= 8


async def test_32_tasks_get_their_own_answers(opa: OpaProcess) -> None:
    async with AsyncOpaServerEngine(opa.url) as engine:
        next_number = iter(range(640))

        async def ask_many() -> None:
            for number in next_number:
                question = body(request_id=f"r{number}", turn=500 if number % 7 == 0 else 1)
                answer = await engine.evaluate_async(rule("padded"), question, Deadline.after(LONG))
                assert echo(answer) == f"r{number}"

        await asyncio.gather(*(ask_many() for _ in range(32)))
        assert len(engine._pool()._idle) <= 8


def test_threads_wait_for_a_place_until_the_deadline() -> None:
    with HostileServer() as server, OpaServerEngine(server.url, max_connections=1) as engine:
        server.next_fault(accept_and_hang)
        first = threading.Thread(target=lambda: _swallow(engine, 2.0))
        first.start()
        while not server.questions:
            time.sleep(0.005)
        with pytest.raises(EngineFailureError, match="waiting for one of the engine's connections") as caught:
            engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(0.05))
        assert caught.value.reason is Reason.POLICY_TIMEOUT
        server.over.set()
        first.join()
        assert len(server.questions) == 1


def _swallow(engine: OpaServerEngine, seconds: float) -> None:
    with suppress(EngineFailureError):
        engine.evaluate(TOOL_POLICY_PATH, body(), Deadline.after(seconds))


async def test_tasks_wait_for_a_place_until_the_deadline() -> None:
    with HostileServer() as server:
        async with AsyncOpaServerEngine(server.url, max_connections=1) as engine:
            server.next_fault(accept_and_hang)
            first = asyncio.create_task(engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(LONG)))
            while not server.questions:  # noqa: ASYNC110 - the server is another thread
                await asyncio.sleep(0.005)
            with pytest.raises(EngineFailureError, match="waiting for one of the engine's connections") as caught:
                await engine.evaluate_async(TOOL_POLICY_PATH, body(), Deadline.after(0.05))
            assert caught.value.reason is Reason.POLICY_TIMEOUT
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            answer = await engine.evaluate_async(TOOL_POLICY_PATH, body(request_id="r2"), Deadline.after(LONG))
            assert echo(answer) == "r2"
            assert [asked["requestId"] for asked in server.questions] == ["r1", "r2"]


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
