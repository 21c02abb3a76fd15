"""A permit exposes nothing and works once, soon, here (design 3.5)."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import threading
import time
import weakref
from typing import Any

import pytest

from aioc_opa.errors import ToolCallPolicyDeniedError
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed
from aioc_opa.permit import Permit, PermitBook
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing

ran: list[object] = []


def make_guard(answer: Any = allowing) -> ToolGuard:
    ran.clear()
    guard = ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision())

    @guard.tool()
    def add(a: int, b: int = 2) -> int:
        ran.append((a, b))
        return a + b

    return guard


def allowed(guard: ToolGuard) -> Permit:
    outcome = guard.authorize("add", '{"a": 1}', agent_name="agent")
    assert isinstance(outcome, Allowed)
    return outcome.permit


def test_a_permit_runs_the_call_once() -> None:
    guard = make_guard()
    permit = allowed(guard)
    assert guard.execute(permit) == 3
    with pytest.raises(ToolCallPolicyDeniedError) as caught:
        guard.execute(permit)
    assert caught.value.code == "permit_invalid"
    assert ran == [(1, 2)]


def test_a_permit_exposes_nothing() -> None:
    permit = allowed(make_guard())
    assert repr(permit) == "<Permit>"
    assert not hasattr(permit, "__dict__")
    public = [name for name in dir(permit) if not name.startswith("__")]
    assert public == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_permit_cannot_be_copied_or_pickled(duplicate: Any) -> None:
    with pytest.raises(TypeError, match="cannot be copied"):
        duplicate(allowed(make_guard()))


def test_a_permit_cannot_be_subclassed_or_forged() -> None:
    with pytest.raises(TypeError):
        type("Mine", (Permit,), {})
    guard = make_guard()
    for forged in (Permit(), object(), None, "permit", weakref.ref(allowed(guard))):
        with pytest.raises(ToolCallPolicyDeniedError, match="permit_invalid"):
            guard.execute(forged)
    assert ran == []


def test_another_guards_permit_is_refused() -> None:
    first, second = make_guard(), make_guard()
    permit = allowed(first)
    with pytest.raises(ToolCallPolicyDeniedError, match="permit_invalid"):
        second.execute(permit)
    assert first.execute(permit) == 3


def test_a_late_permit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = make_guard()
    permit = allowed(guard)
    now = time.monotonic()
    monkeypatch.setattr("aioc_opa.permit.time.monotonic", lambda: now + 30.5)
    with pytest.raises(ToolCallPolicyDeniedError, match="permit_invalid"):
        guard.execute(permit)
    assert ran == []


def test_a_permit_never_outlives_the_decision() -> None:
    guard = make_guard(lambda question: {**allowing(question), "expiresAt": "2001-01-01T00:00:00Z"})
    assert guard.authorize("add", '{"a": 1}', agent_name="agent").code == "permit_invalid"
    with pytest.raises(ToolCallPolicyDeniedError, match="permit_invalid"):
        guard.call("add", '{"a": 1}', agent_name="agent")
    assert ran == []
    later = make_guard(lambda question: {**allowing(question), "expiresAt": "2999-01-01T00:00:00Z"})
    assert later.call("add", '{"a": 1}', agent_name="agent") == 3


def test_a_permit_that_runs_out_while_context_is_injected_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")
    now = time.monotonic()

    def slow(call: Any) -> str:
        monkeypatch.setattr("aioc_opa.guard_core.time.monotonic", lambda: now + 31)
        return "late"

    @guard.tool(inject={"clock": slow})
    def tell(clock: str) -> str:
        ran.append(clock)
        return clock

    ran.clear()
    assert guard.call("tell", "{}", agent_name="agent").code == "permit_invalid"
    assert ran == []


def _execute_in_child(guard: ToolGuard, permit: Permit, answers: Any) -> None:
    try:
        answers.put(("ran", guard.execute(permit)))
    except ToolCallPolicyDeniedError as error:
        answers.put(("refused", error.code))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_permit_is_refused_in_another_process() -> None:
    guard = make_guard()
    permit = allowed(guard)
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=_execute_in_child, args=(guard, permit, answers))
    child.start()
    assert answers.get(timeout=20) == ("refused", "permit_invalid")
    child.join(timeout=20)
    assert os.getpid() != child.pid


def test_a_dropped_permit_drops_the_right() -> None:
    guard = make_guard()
    permit = allowed(guard)
    assert len(guard._core.permits._open) == 1
    del permit
    gc.collect()
    assert len(guard._core.permits._open) == 0


def test_of_many_threads_exactly_one_runs_a_permit() -> None:
    guard = make_guard()
    for _ in range(50):
        ran.clear()
        permit = allowed(guard)
        barrier = threading.Barrier(8)
        refused: list[str] = []

        def race(permit: Permit = permit, barrier: threading.Barrier = barrier, refused: list[str] = refused) -> None:
            barrier.wait()
            try:
                guard.execute(permit)
            except ToolCallPolicyDeniedError as error:
                refused.append(error.code)

        threads = [threading.Thread(target=race) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ran) == 1
        assert refused == ["permit_invalid"] * 7


def test_a_book_refuses_what_it_did_not_issue() -> None:
    assert PermitBook().redeem(Permit()) is None
