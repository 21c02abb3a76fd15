"""Connections: reused, replaced when stale, never shared with a child process, closed when in doubt."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import http_async, pool
from aioc_opa.engines.deadline import Deadline
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

    from tests.engines.opa_server.edges import SyncEdge
from tests.engines.opa_server.lifecycle_cases import LONG, echo


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
