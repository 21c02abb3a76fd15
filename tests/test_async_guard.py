"""`AsyncToolGuard` keeps the promises of `ToolGuard`, and those that only an event loop needs."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from aioc_opa.async_guard import AsyncToolGuard
from aioc_opa.errors import (
    HandoffPolicyDeniedError,
    ToolArgumentsValidationError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, HandoffAllowed
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, denying, holding

ANY = UnsafeAnyRevision()


def build(engine: Any, **settings: Any) -> AsyncToolGuard:
    return AsyncToolGuard(engine, revision_gate=UnsafeAnyRevision(), **settings)


async def test_async_and_plain_handlers_run_and_a_plain_one_does_not_block_the_loop() -> None:
    guard = build(ScriptedEngine())
    loop_thread = threading.get_ident()

    @guard.tool()
    async def in_loop(a: int) -> int:
        return threading.get_ident()

    @guard.tool()
    def in_thread(a: int) -> int:
        return threading.get_ident()

    assert await guard.call("in_loop", '{"a": 1}', agent_name="agent") == loop_thread
    assert await guard.call("in_thread", '{"a": 1}', agent_name="agent") != loop_thread


async def test_providers_may_be_async_and_a_failing_one_denies() -> None:
    guard = build(ScriptedEngine(), result_mode="tool_result")

    async def clock(call: Any) -> str:
        await asyncio.sleep(0)
        return str(call.call_id)

    async def broken(call: Any) -> str:
        raise OSError

    @guard.tool(inject={"now": clock})
    async def tell(now: str) -> str:
        return now

    @guard.tool(inject={"now": broken})
    async def fail(now: str) -> str:
        return now

    assert await guard.call("tell", "{}", agent_name="agent", call_id="c9") == "c9"
    assert (await guard.call("fail", "{}", agent_name="agent")).code == "permit_invalid"


async def test_refusals_validation_and_unknown_tools() -> None:
    guard = build(ScriptedEngine(denying))

    @guard.tool()
    async def act(a: int) -> int:
        return a

    with pytest.raises(ToolCallPolicyDeniedError, match="because"):
        await guard.call("act", '{"a": 1}', agent_name="agent")
    with pytest.raises(ToolArgumentsValidationError):
        await guard.call("act", '{"a": "x"}', agent_name="agent")
    with pytest.raises(ToolCallPolicyDeniedError, match="tool_not_authorized"):
        await guard.call("nothing", "{}", agent_name="agent")
    assert (await build(ScriptedEngine(holding)).authorize_handoff("b", "{}", from_agent_name="f")).code == "ask"
    assert await build(ScriptedEngine()).handoff("b", '{"a": 1}', from_agent_name="f") == {"a": 1}
    with pytest.raises(HandoffPolicyDeniedError):
        await guard.handoff("b", "{}", from_agent_name="f")
    handoff = await build(ScriptedEngine()).authorize_handoff("b", "{}", from_agent_name="f")
    assert isinstance(handoff, HandoffAllowed)
    assert (
        await build(ScriptedEngine()).authorize_handoff("", "{}", from_agent_name="f")
    ).code == "policy_input_invalid"


async def test_an_engine_that_ignores_its_deadline_is_cut_off() -> None:
    class Hanging(ScriptedEngine):
        async def evaluate_async(self, *args: Any) -> Any:
            await asyncio.sleep(60)

    guard = build(Hanging(), deadline=0.05)

    @guard.tool()
    async def act(a: int) -> int:
        return a

    assert (await guard.authorize("act", '{"a": 1}', agent_name="agent")).code == "policy_timeout"


async def test_cancelling_a_call_never_runs_the_tool() -> None:
    ran = []
    asked = asyncio.Event()

    class Slow(ScriptedEngine):
        async def evaluate_async(self, *args: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    guard = build(Slow())

    @guard.tool()
    async def act(a: int) -> int:
        ran.append(a)
        return a

    task = asyncio.create_task(guard.call("act", '{"a": 1}', agent_name="agent"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ran == []


async def test_an_engine_that_panics_is_a_deny() -> None:
    class Panic(BaseException):
        pass

    guard = build(ScriptedEngine(lambda question: Panic()))

    @guard.tool()
    async def act(a: int) -> int:
        return a

    assert (await guard.authorize("act", '{"a": 1}', agent_name="agent")).code == "policy_unavailable"


@pytest.mark.parametrize("plain", [True, False])
async def test_arguments_that_change_after_the_permit_are_found_out(plain: bool) -> None:
    guard = build(ScriptedEngine(), result_mode="tool_result")
    ran = []

    def handler(arguments: dict[str, Any]) -> None:
        ran.append(arguments)

    async def later(arguments: dict[str, Any]) -> None:
        ran.append(arguments)

    guard.register_json_schema("act", {"type": "object"}, handler if plain else later)
    outcome = await guard.authorize("act", '{"a": [1]}', agent_name="agent")
    assert isinstance(outcome, Allowed)
    judged: Any = next(iter(guard._core.permits._open.values())).parsed
    judged["a"].append(2)
    assert (await guard.execute(outcome.permit)).code == "policy_mutated_arguments"
    assert (await guard.execute(outcome.permit)).code == "permit_invalid"
    assert ran == []


async def test_what_handlers_raise_comes_out() -> None:
    guard = build(ScriptedEngine())
    inner = build(ScriptedEngine(denying))

    @inner.tool()
    async def act(a: int) -> int:
        return a

    @guard.tool()
    async def nested() -> None:
        await inner.call("act", '{"a": 1}', agent_name="agent")

    @guard.tool()
    def exhausted() -> None:
        raise StopIteration

    with pytest.raises(ToolExecutionError):
        await guard.call("nested", "{}", agent_name="agent")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await guard.call("exhausted", "{}", agent_name="agent")


async def test_many_tasks_at_once_do_not_mix() -> None:
    guard = build(ScriptedEngine())

    @guard.tool()
    async def double(a: int) -> int:
        await asyncio.sleep(0)
        return 2 * a

    results = await asyncio.gather(*(guard.call("double", f'{{"a": {n}}}', agent_name="agent") for n in range(100)))
    assert results == [2 * n for n in range(100)]


async def test_check_reports_what_works() -> None:
    guard = build(ScriptedEngine(denying))

    @guard.tool()
    async def act(a: int) -> int:
        return a

    report = await guard.check(handoffs=True)
    assert report.engine == "scripted 1"
    assert report.tools == ("act",)


class Recording:
    """A tool schema that records in which order it is used."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.used: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.used.append(name)
        return getattr(self.inner, name)


@pytest.mark.parametrize("kind", ["sync", "async", "thread"])
async def test_values_are_bound_only_after_the_last_recheck(kind: str) -> None:
    guard: Any = ToolGuard(ScriptedEngine(), revision_gate=ANY) if kind == "sync" else build(ScriptedEngine())

    async def in_loop(a: int) -> int:
        return a

    def plain(a: int) -> int:
        return a

    guard.register_function(in_loop if kind == "async" else plain, name="act", inject={})
    tool = guard._core.registry._tools["act"]
    schema = Recording(tool.schema)
    guard._core.registry._tools["act"] = replace(tool, schema=schema)
    result = guard.call("act", '{"a": 1}', agent_name="agent")
    assert (result if kind == "sync" else await result) == 1
    assert schema.used == ["parse", "canonical_text", "canonical_text", "canonical_text", "bind"]
