"""A handler that does not end within its deadline: its outcome is unknown, never a denial, and it is not run again."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import (
    AiocOpaError,
    AsyncToolGuard,
    PolicyRefusalError,
    Principal,
    RunContext,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
    ToolGuard,
    ToolOutcomeUnknownError,
    ToolRegistrationError,
    UnsafeAnyRevision,
)
from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from tests.doubles import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.records import EffectIntent, EffectOutcome

SHORT = 0.05
LONG = 60
KINDS = ["plain", "plain on a loop", "async"]
THREADS = KINDS[:2]
note = contextvars.ContextVar("note", default="none")


class Noting(MemoryApprovalStore):
    """A store that says how executions ended, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[EffectOutcome] = []
        self.known = threading.Event()

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        super().finish(intent, outcome)
        self.outcomes.append(outcome)
        if outcome != "unknown":
            self.known.set()


class Till:
    """One guarded tool, marked ``once``. What is inside its handler may hang until `go` is set."""

    def __init__(self, kind: str, inside: Callable[[], Any] | None, seconds: float | None, **settings: Any) -> None:
        self.store = Noting()
        self.entered, self.go = threading.Event(), threading.Event()
        made: Any = ToolGuard if kind == "plain" else AsyncToolGuard
        options = {"revision_gate": UnsafeAnyRevision(), "effects": self.store, **settings}
        self.guard = made(ScriptedEngine(), **options)

        def plain() -> Any:
            self.entered.set()
            if inside is not None:
                return inside()
            self.go.wait(LONG)
            return "paid"

        async def awaited() -> Any:
            self.entered.set()
            if inside is None:
                await asyncio.sleep(LONG)
            given = None if inside is None else inside()
            return await given if inspect.isawaitable(given) else given

        handler = awaited if kind == "async" else plain
        self.guard.register_function(handler, name="pay", once=True, handler_seconds=seconds)

    def call(self, call_id: str = "call-1") -> Any:
        value = self.guard.call(
            "pay",
            "{}",
            agent_name="clerk",
            principal=Principal(identity="kim"),
            run_context=RunContext(run_id="run-1"),
            call_id=call_id,
        )

        async def awaited() -> Any:
            return await value

        return asyncio.run(awaited()) if inspect.isawaitable(value) else value


@pytest.mark.parametrize("mode", ["throw", "tool_result"])
@pytest.mark.parametrize("kind", KINDS)
def test_past_its_deadline_the_outcome_is_unknown_and_never_denied(kind: str, mode: str) -> None:
    till = Till(kind, None, SHORT, result_mode=mode)
    with pytest.raises(ToolOutcomeUnknownError) as caught:
        till.call()
    assert till.entered.wait(LONG)
    assert till.store.outcomes == ["unknown"]
    assert caught.value.code == "outcome_unknown"
    assert isinstance(caught.value, ToolExecutionError)
    assert not isinstance(caught.value, AiocOpaError)
    till.go.set()


@pytest.mark.parametrize("kind", KINDS)
def test_what_ran_past_its_deadline_is_not_run_again(kind: str) -> None:
    till = Till(kind, None, SHORT)
    with pytest.raises(ToolOutcomeUnknownError):
        till.call()
    till.go.set()
    with pytest.raises(ToolCallPolicyDeniedError, match="call_already_executed"):
        till.call()


@pytest.mark.parametrize("kind", THREADS)
def test_a_plain_handler_that_ends_after_all_says_how(kind: str) -> None:
    till = Till(kind, None, SHORT)
    with pytest.raises(ToolOutcomeUnknownError):
        till.call()
    assert not till.store.known.is_set()
    till.go.set()
    assert till.store.known.wait(LONG)
    assert till.store.outcomes == ["unknown", "returned"]


def test_an_async_handler_is_cancelled_and_what_it_makes_of_that_is_its_outcome() -> None:
    ended: list[str] = []

    async def careful() -> str:
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            ended.append("cleaned up")
        return "paid all the same"

    till = Till("async", careful, SHORT)
    assert till.call() == "paid all the same"
    assert ended == ["cleaned up"]
    assert till.store.outcomes == ["returned"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", [LONG, None])
def test_in_time_it_is_as_without_a_deadline(kind: str, seconds: float | None) -> None:
    note.set("from the caller")
    till = Till(kind, note.get, seconds)
    assert till.call() == "from the caller"
    for error, seen in [
        (TimeoutError("its own"), TimeoutError),
        (StopIteration("its own"), StopIteration if kind == "plain" else RuntimeError),
        (PolicyRefusalError("inner", "an inner guard said no"), ToolExecutionError),
    ]:

        def raising(error: Exception = error) -> None:
            raise error

        failing = Till(kind, raising, seconds)
        with pytest.raises(seen) as caught:
            failing.call()
        assert not isinstance(caught.value, ToolOutcomeUnknownError)
        assert failing.store.outcomes == ["raised"]


def test_an_interrupt_of_whoever_waits_leaves_an_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    till = Till("plain", None, LONG)
    wait = threading.Event.wait

    def interrupted(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout == LONG and threading.current_thread() is threading.main_thread():
            monkeypatch.undo()
            wait(till.entered, LONG)
            raise KeyboardInterrupt
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        till.call()
    assert till.store.outcomes == ["unknown"]
    till.go.set()


@pytest.mark.parametrize("kind", THREADS)
def test_without_a_thread_the_handler_is_not_entered_and_the_budget_is_given_back(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = threading.Thread.start

    def none_left(thread: threading.Thread) -> None:
        if thread.name == "aioc-opa-handler":
            raise RuntimeError("can't start new thread")
        start(thread)

    bindings = IdentityBindings([IdentityBinding(identity="kim", tools=frozenset({"pay"}))])
    budgets = Budgets(MemoryBudgetLedger(), BudgetLimits(calls_per_run=1))
    till = Till(kind, lambda: "paid", LONG, access=AccessGate(identities=bindings, budgets=budgets))
    caplog.set_level(logging.ERROR)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        with pytest.raises(ToolCallPolicyDeniedError, match="permit_invalid"):
            till.call()
    assert not till.entered.is_set()
    assert till.store.outcomes == ["not_entered"]
    assert "no thread" in caplog.text
    assert till.call("call-2") == "paid"


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "5", 86_401])
def test_a_deadline_that_is_none_is_refused_at_registration(seconds: Any) -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision())
    for register in (
        lambda: guard.register_function(lambda: None, name="pay", handler_seconds=seconds),
        lambda: guard.tool("pay", handler_seconds=seconds)(lambda: None),
        lambda: guard.register_model("pay", dict[str, int], lambda _: None, handler_seconds=seconds),
        lambda: guard.register_json_schema("pay", {"type": "object"}, lambda _: None, handler_seconds=seconds),
    ):
        with pytest.raises(ToolRegistrationError, match="handler_seconds"):
            register()
