"""Every fault, seen from the guard: a deny with its own reserved reason, the tool does not run, the next call does."""

from __future__ import annotations

import pytest

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Denied
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.hostile.faults import DECISION, TIMEOUTS, TRANSPORT
from tests.hostile.server import HostileServer

FAULTS = {**TRANSPORT, **DECISION}


def deadline(name: str) -> float:
    return 0.3 if name in TIMEOUTS else 10.0


def test_sync_refused() -> None:
    server = HostileServer()
    with OpaServerEngine(server.url) as engine:
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
        guard.register_function(len_of)
        outcome = guard.authorize("len_of", '{"text": "ab"}', agent_name="agent")
        assert isinstance(outcome, Denied)
        assert outcome.code == Reason.POLICY_UNAVAILABLE
        with server:
            assert guard.call("len_of", '{"text": "ab"}', agent_name="agent") == 2


async def test_async_refused() -> None:
    server = HostileServer()
    async with AsyncOpaServerEngine(server.url) as engine:
        guard = AsyncToolGuard(engine, revision_gate=UnsafeAnyRevision())
        guard.register_function(len_of)
        outcome = await guard.authorize("len_of", '{"text": "ab"}', agent_name="agent")
        assert isinstance(outcome, Denied)
        assert outcome.code == Reason.POLICY_UNAVAILABLE
        with server:
            assert await guard.call("len_of", '{"text": "ab"}', agent_name="agent") == 2


def len_of(text: str) -> int:
    return len(text)


@pytest.mark.parametrize("name", FAULTS)
def test_sync(name: str) -> None:
    fault, reason = FAULTS[name]
    ran: list[int] = []
    with HostileServer() as server, OpaServerEngine(server.url, max_connections=1) as engine:
        guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), deadline=deadline(name))

        @guard.tool()
        def pay(amount: int) -> str:
            ran.append(amount)
            return "paid"

        assert guard.call("pay", '{"amount": 1}', agent_name="agent") == "paid"
        server.next_fault(fault)
        outcome = guard.authorize("pay", '{"amount": 2}', agent_name="agent")
        assert isinstance(outcome, Denied)
        assert outcome.code == reason
        assert "secret" not in repr(outcome)
        assert guard.call("pay", '{"amount": 3}', agent_name="agent") == "paid"
    assert ran == [1, 3]
    assert len(server.questions) == 3


@pytest.mark.parametrize("name", FAULTS)
async def test_async(name: str) -> None:
    fault, reason = FAULTS[name]
    ran: list[int] = []
    with HostileServer() as server:
        async with AsyncOpaServerEngine(server.url, max_connections=1) as engine:
            guard = AsyncToolGuard(engine, revision_gate=UnsafeAnyRevision(), deadline=deadline(name))

            @guard.tool()
            async def pay(amount: int) -> str:
                ran.append(amount)
                return "paid"

            assert await guard.call("pay", '{"amount": 1}', agent_name="agent") == "paid"
            server.next_fault(fault)
            outcome = await guard.authorize("pay", '{"amount": 2}', agent_name="agent")
            assert isinstance(outcome, Denied)
            assert outcome.code == reason
            assert "secret" not in repr(outcome)
            assert await guard.call("pay", '{"amount": 3}', agent_name="agent") == "paid"
    assert ran == [1, 3]
    assert len(server.questions) == 3
