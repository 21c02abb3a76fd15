"""Each fault is denied with its own reason, is asked once, and leaves the engine usable."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from tests.hostile.faults import DECISION, TIMEOUTS, TRANSPORT
from tests.hostile.server import Exchange, HostileServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SHORT, LONG = 0.3, 10.0
STOPPED_EARLY = 64 * 1024 * 1024  # bytes: what kernel buffers take of a gigabyte that nobody reads


def question(number: int) -> bytes:
    return json.dumps({"input": {"proposalHash": f"{number:064x}", "requestId": f"r{number}", "kind": "tool"}}).encode()


def seconds(name: str) -> float:
    return SHORT if name in TIMEOUTS else LONG


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as hostile:
        yield hostile


@pytest.fixture
def engine(server: HostileServer) -> Iterator[OpaServerEngine]:
    with OpaServerEngine(server.url, max_connections=1) as opa:
        yield opa


@pytest.fixture
async def async_engine(server: HostileServer) -> AsyncIterator[AsyncOpaServerEngine]:
    async with AsyncOpaServerEngine(server.url, max_connections=1) as opa:
        yield opa


def check_good(answer: EngineAnswer, number: int) -> None:
    assert isinstance(answer.result, dict)
    assert answer.result["decision"] == "allow"
    assert answer.result["requestId"] == f"r{number}"


def check_once(server: HostileServer) -> None:
    """Never sent twice: it could have been evaluated."""
    assert [asked["requestId"] for asked in server.questions] == ["r0", "r1", "r2"]
    assert server.bytes_sent < STOPPED_EARLY


@pytest.mark.parametrize("name", TRANSPORT)
def test_sync_denies_with_its_own_reason_and_stays_usable(
    name: str, server: HostileServer, engine: OpaServerEngine
) -> None:
    fault, reason = TRANSPORT[name]
    check_good(engine.evaluate(TOOL_POLICY_PATH, question(0), Deadline.after(LONG)), 0)
    server.next_fault(fault)
    with pytest.raises(EngineFailureError) as caught:
        engine.evaluate(TOOL_POLICY_PATH, question(1), Deadline.after(seconds(name)))
    assert caught.value.reason is reason, caught.value.detail
    check_good(engine.evaluate(TOOL_POLICY_PATH, question(2), Deadline.after(LONG)), 2)
    check_once(server)


@pytest.mark.parametrize("name", TRANSPORT)
async def test_async_denies_with_its_own_reason_and_stays_usable(
    name: str, server: HostileServer, async_engine: AsyncOpaServerEngine
) -> None:
    fault, reason = TRANSPORT[name]
    check_good(await async_engine.evaluate_async(TOOL_POLICY_PATH, question(0), Deadline.after(LONG)), 0)
    server.next_fault(fault)
    with pytest.raises(EngineFailureError) as caught:
        await async_engine.evaluate_async(TOOL_POLICY_PATH, question(1), Deadline.after(seconds(name)))
    assert caught.value.reason is reason, caught.value.detail
    check_good(await async_engine.evaluate_async(TOOL_POLICY_PATH, question(2), Deadline.after(LONG)), 2)
    check_once(server)


@pytest.mark.parametrize("name", DECISION)
def test_whole_responses_are_answers_that_the_decoder_has_to_refuse(
    name: str, server: HostileServer, engine: OpaServerEngine
) -> None:
    fault, reason = DECISION[name]
    check_good(engine.evaluate(TOOL_POLICY_PATH, question(0), Deadline.after(LONG)), 0)
    server.next_fault(fault)
    answer = engine.evaluate(TOOL_POLICY_PATH, question(1), Deadline.after(LONG))
    assert (answer.result is UNDEFINED) == (reason is Reason.POLICY_UNDEFINED)


def late_second_response(exchange: Exchange) -> bool:
    """A whole second response behind the first, not always in the same segment."""
    exchange.respond(exchange.answer())
    exchange.respond(exchange.answer())
    return True


def echo(answer: EngineAnswer) -> object:
    assert isinstance(answer.result, dict)
    return answer.result["requestId"]


def test_sync_a_late_second_response_shifts_at_most_one_answer(server: HostileServer, engine: OpaServerEngine) -> None:
    for number in range(0, 60, 3):
        server.next_fault(late_second_response)
        with suppress(EngineFailureError):  # both came in one segment
            check_good(engine.evaluate(TOOL_POLICY_PATH, question(number), Deadline.after(LONG)), number)
        # It can come between the last look and the question. Then the echo is another question's (the decoder's to
        # refuse), and the connection is closed.
        with suppress(EngineFailureError):  # or together with the next answer
            answer = engine.evaluate(TOOL_POLICY_PATH, question(number + 1), Deadline.after(LONG))
            assert echo(answer) in {f"r{number}", f"r{number + 1}"}
        check_good(engine.evaluate(TOOL_POLICY_PATH, question(number + 2), Deadline.after(LONG)), number + 2)


async def test_async_a_late_second_response_shifts_at_most_one_answer(
    server: HostileServer, async_engine: AsyncOpaServerEngine
) -> None:
    async def ask(number: int) -> EngineAnswer:
        return await async_engine.evaluate_async(TOOL_POLICY_PATH, question(number), Deadline.after(LONG))

    for number in range(0, 60, 3):
        server.next_fault(late_second_response)
        with suppress(EngineFailureError):
            check_good(await ask(number), number)
        with suppress(EngineFailureError):
            assert echo(await ask(number + 1)) in {f"r{number}", f"r{number + 1}"}
        check_good(await ask(number + 2), number + 2)


def test_sync_a_refused_connection_is_tried_once_more_and_then_unavailable() -> None:
    server = HostileServer()
    engine = OpaServerEngine(server.url)
    with pytest.raises(EngineFailureError) as caught:
        engine.evaluate(TOOL_POLICY_PATH, question(0), Deadline.after(LONG))
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE
    with server:
        check_good(engine.evaluate(TOOL_POLICY_PATH, question(1), Deadline.after(LONG)), 1)
    engine.close()


async def test_async_a_refused_connection_is_tried_once_more_and_then_unavailable() -> None:
    server = HostileServer()
    async with AsyncOpaServerEngine(server.url) as engine:
        with pytest.raises(EngineFailureError) as caught:
            await engine.evaluate_async(TOOL_POLICY_PATH, question(0), Deadline.after(LONG))
        assert caught.value.reason is Reason.POLICY_UNAVAILABLE
        with server:
            check_good(await engine.evaluate_async(TOOL_POLICY_PATH, question(1), Deadline.after(LONG)), 1)


def test_sync_a_refused_connection_is_not_tried_again_when_no_time_is_left_for_it() -> None:
    server = HostileServer()
    with OpaServerEngine(server.url) as engine, pytest.raises(EngineFailureError) as caught:
        engine.evaluate(TOOL_POLICY_PATH, question(0), Deadline.after(0.04))
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE
    server.close()


async def test_async_a_refused_connection_is_not_tried_again_when_no_time_is_left_for_it() -> None:
    server = HostileServer()
    async with AsyncOpaServerEngine(server.url) as engine:
        with pytest.raises(EngineFailureError) as caught:
            await engine.evaluate_async(TOOL_POLICY_PATH, question(0), Deadline.after(0.04))
    assert caught.value.reason is Reason.POLICY_UNAVAILABLE
    server.close()
