"""Adapters that raise, hang, lie, return subclasses, return late or change what they were given: each is a deny."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from aioc_opa.access.adapters import NoAnswerError
from aioc_opa.access.bounded import BusyError, LateError, Threads
from aioc_opa.access.gate import AccessGranted, AccessRefused
from aioc_opa.access.in_process_approvals import InProcessApprovals
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult
from tests.access.gating import Adapter, Gate, answering, question, result


class Lying(ToolAuthorizationResult):
    pass


class Word(str):
    __slots__ = ()


def raising(error: BaseException) -> Adapter:
    def answer(_: object) -> object:
        raise error

    return Adapter(answer)


def changed(**fields: Any) -> ToolAuthorizationResult:
    made = result()
    vars(made).update(fields)
    return made


def mutating(request: ToolAuthorizationRequest) -> Any:
    vars(request).update(identity="root", tool_name="purge", secret="x")
    return result("deny", "seen")


HOSTILE: dict[str, tuple[Adapter, str]] = {
    "raises": (raising(RuntimeError("secret")), "adapter_failed"),
    "raises a panic": (raising(type("Panic", (BaseException,), {})("secret")), "adapter_failed"),
    "raises a cancellation": (raising(asyncio.CancelledError()), "adapter_failed"),
    "raises a stop": (raising(StopIteration(result())), "adapter_failed"),
    "raises a timeout": (raising(TimeoutError()), "deadline"),
    "has no answer": (raising(NoAnswerError(Reason.POLICY_UNDEFINED)), "policy_undefined"),
    "has a made-up reason": (raising(NoAnswerError(Word("anything"))), "adapter_failed"),  # type: ignore[arg-type] # it lies
    "returns None": (Adapter(lambda _: None), "adapter_malformed"),
    "returns True": (Adapter(lambda _: True), "adapter_malformed"),
    "returns a word": (Adapter(lambda _: "allow"), "adapter_malformed"),
    "returns a dict": (Adapter(lambda _: {"decision": "allow", "reason_code": "x"}), "adapter_malformed"),
    "returns a subclass": (Adapter(lambda _: Lying(decision="allow", reason_code="x")), "adapter_malformed"),
    "returns an unchecked one": (
        Adapter(lambda _: ToolAuthorizationResult.model_construct(decision="yes", reason_code="x")),  # type: ignore[arg-type] # it lies
        "adapter_malformed",
    ),
    "returns one with less": (
        Adapter(lambda _: ToolAuthorizationResult.model_construct(decision="allow")),
        "adapter_malformed",
    ),
    "returns one with more": (Adapter(lambda _: changed(secret="x")), "adapter_malformed"),
    "returns a str subclass": (Adapter(lambda _: changed(decision=Word("allow"))), "adapter_malformed"),
    "returns free text": (Adapter(lambda _: changed(reason_code="My secret!")), "adapter_malformed"),
    "uses a reserved reason": (Adapter(lambda _: result("allow", "approval_timed_out")), "adapter_malformed"),
    "changes its request": (Adapter(mutating), "seen"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_adapter_is_a_deny_from_plain_code_and_from_an_event_loop(name: str) -> None:
    adapter, code = HOSTILE[name]
    for ask in ("ask", "ask_async"):
        gate = Gate(adapter=adapter)
        answer = getattr(gate, ask)()
        outcome = await answer if ask == "ask_async" else answer
        assert type(outcome) is AccessRefused
        assert outcome.detail_code == code
        last = gate.sink.events[-1]
        assert (last.decision, last.detail_code, last.identity, last.tool_name) == ("deny", code, "kim", "refund")
        assert gate.sink.types.count("tool.authorization.decided") == 1


def test_an_adapter_that_hangs_holds_nobody_and_so_many_threads_are_left_behind_at_most() -> None:
    go = threading.Event()
    hanging = Adapter(lambda _: go.wait(30) and result())
    gate = Gate(adapter=hanging)
    gate.gate._threads._limit = 2
    try:
        for _ in range(2):
            assert gate.refused(seconds=0.02) == ("access_deadline_exceeded", "deadline")
        assert gate.refused() == ("tool_not_authorized", "adapter_busy")
    finally:
        go.set()
    while gate.gate._threads._left:
        threading.Event().wait(0.005)
    assert type(gate.ask()) is AccessGranted


async def test_an_adapter_that_hangs_in_a_loop_is_cancelled_and_not_waited_for() -> None:
    stubborn = asyncio.Event()

    class Stubborn:
        async def authorize(self, request: object) -> object:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                stubborn.set()
                await asyncio.sleep(0.05)  # does not let go at once, and then claims that all is well
            return result()

    outcome = await Gate(adapter=Stubborn()).ask_async(seconds=0.02)
    assert type(outcome) is AccessRefused
    assert outcome.reason is Reason.ACCESS_DEADLINE_EXCEEDED
    await stubborn.wait()
    await asyncio.sleep(0.1)


async def test_a_plain_adapter_that_hangs_does_not_hold_the_event_loop() -> None:
    go = threading.Event()

    class Hanging:
        def authorize_sync(self, request: object) -> object:
            go.wait(30)
            return result()

    asking = asyncio.create_task(Gate(adapter=Hanging()).ask_async(seconds=0.05))
    await asyncio.sleep(0)
    outcome = await asking
    assert type(outcome) is AccessRefused
    assert outcome.reason is Reason.ACCESS_DEADLINE_EXCEEDED
    cancelled = asyncio.create_task(Gate(adapter=Hanging()).ask_async())
    await asyncio.sleep(0.02)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    go.set()
    granted = await Gate(adapter=Hanging()).ask_async()
    assert type(granted) is AccessGranted


def test_an_answer_that_comes_in_time_but_is_read_late_is_a_deny() -> None:
    class Slow:
        keeps_deadlines = True  # it says so, and lies

        def authorize_sync(self, request: object) -> object:
            threading.Event().wait(0.1)
            return result()

    assert Gate(adapter=Slow()).refused(seconds=0.03) == ("access_deadline_exceeded", "deadline")


def test_a_deadline_that_has_passed_asks_nobody() -> None:
    adapter = answering("allow")
    assert Gate(adapter=adapter).refused(seconds=-1) == ("access_deadline_exceeded", "deadline")
    assert adapter.requests == []


async def test_an_adapter_of_the_other_kind_is_refused_by_the_guards_check_and_denies_without_it() -> None:
    class OnlyAsync:
        async def authorize(self, request: object) -> object:
            return result()

    class Mistaken:
        async def authorize_sync(self, request: object) -> object:
            return result()

    class NotAwaitable:
        def authorize(self, request: object) -> object:
            return result()

    gate = Gate(adapter=OnlyAsync())
    with pytest.raises(ConfigurationError, match="authorize_sync"):
        gate.gate.require_usable(asynchronous=False)
    gate.gate.require_usable(asynchronous=True)
    assert gate.refused() == ("tool_not_authorized", "adapter_not_usable")
    assert type(await gate.ask_async()) is AccessGranted
    with pytest.raises(ConfigurationError):
        Gate(adapter=Mistaken()).gate.require_usable(asynchronous=True)
    for wrong, code in ((Mistaken(), "adapter_not_usable"), (NotAwaitable(), "adapter_failed")):
        outcome = await Gate(adapter=wrong).ask_async()
        assert type(outcome) is AccessRefused
        assert outcome.detail_code == code
    Gate(adapter=answering("allow"), approvals=InProcessApprovals()).gate.require_usable(asynchronous=False)


def test_the_keyboard_passes_and_is_told_as_a_cancellation() -> None:
    class Interrupted:
        keeps_deadlines = True

        def authorize_sync(self, request: object) -> object:
            raise KeyboardInterrupt

    gate = Gate(adapter=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        gate.ask()
    assert gate.sink.events[-1].detail_code == "cancelled"


def test_whatever_breaks_inside_the_gate_is_a_refusal() -> None:
    gate = Gate()
    gate.gate._steps.lists.refuses = lambda *_: 1 / 0  # type: ignore[method-assign, assignment, return-value] # it breaks
    assert gate.refused() == ("tool_not_authorized", "internal_error")
    assert gate.gate.authorize(None, Deadline.after(1)).detail_code == "question_invalid"  # type: ignore[arg-type, union-attr] # likewise


def test_a_thread_that_cannot_be_started_is_a_deny(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Gate(adapter=answering("allow")).refused() == ("tool_not_authorized", "adapter_busy")
    with pytest.raises(BusyError):
        Threads().call(lambda: 1, Deadline.after(1))


def test_an_answer_that_nobody_waits_for_can_be_undone() -> None:
    threads, undone, go = Threads(), threading.Event(), threading.Event()
    with pytest.raises(LateError):
        threads.call(lambda: go.wait(30), Deadline.after(0.01), lambda _: undone.set())
    go.set()
    assert undone.wait(30)


async def test_an_answer_that_a_cancelled_caller_does_not_hear_can_be_undone() -> None:
    threads, undone, entered, go = Threads(), threading.Event(), threading.Event(), threading.Event()

    def work() -> bool:
        entered.set()
        return go.wait(30)

    asking = asyncio.create_task(threads.call_async(work, Deadline.after(30), lambda _: undone.set()))
    await asyncio.sleep(0)
    await asyncio.to_thread(entered.wait, 30)
    go.set()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(undone.wait, 30)


def test_a_plain_adapter_that_is_interrupted_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    gate = Gate(adapter=Adapter(lambda _: go.wait(30) and result()))

    def interrupt(*_: float) -> float:
        raise KeyboardInterrupt

    # The keyboard, just when the wait for the thread begins.
    monkeypatch.setattr("aioc_opa.access.bounded.max", interrupt, raising=False)
    with pytest.raises(KeyboardInterrupt):
        gate.ask()
    go.set()
    assert gate.sink.events[-1].detail_code == "cancelled"


async def test_what_an_awaited_adapter_raises_after_it_was_left_is_nobodys() -> None:
    class Sulking:
        async def authorize(self, request: object) -> object:
            try:
                await asyncio.sleep(30)
            finally:
                raise OSError("secret")

    assert type(await Gate(adapter=Sulking()).ask_async(seconds=0.02)) is AccessRefused
    await asyncio.sleep(0)


async def test_questions_in_parallel_are_not_mixed_up() -> None:
    adapter = Adapter(lambda request: result("allow" if request.tool_name == "refund" else "deny", "x"))
    gate = Gate(adapter=adapter)
    names = ["refund", "lookup"] * 20
    outcomes = await asyncio.gather(*(gate.ask_async(question(name)) for name in names))
    assert [type(outcome) is AccessGranted for outcome in outcomes] == [name == "refund" for name in names]
