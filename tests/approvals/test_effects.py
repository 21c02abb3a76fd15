"""Around the effect: recheck, durable intent, use up, run, end; and what becomes of it when a step fails."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from aioc_opa import PolicyRefusalError, ToolExecutionError, ToolRegistrationError
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.approvals.people import Person
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.desk import Desk, Watched
from tests.approvals.treasury import KIM, RUN, Treasury


@pytest.fixture
def store() -> Watched:
    return Watched(MemoryApprovalStore())


@pytest.fixture
def desk(kind: str, treasury_engines: Any, store: Watched) -> Desk:
    return Desk(Treasury(engine=treasury_engines["embedded"], store=store), kind)  # type: ignore[arg-type] # a watched store


def record_of(desk: Desk) -> Any:
    (record,) = desk.treasury.broker.find(None, frozenset(ApprovalState))
    return record


def test_the_order_is_intent_consume_run_finish(desk: Desk, store: Watched) -> None:
    approval_id = desk.approved()
    store.asked.clear()
    desk.inside = lambda: store.asked.append("run")
    assert desk.resume(approval_id) == "moved 500.0 to A7"
    steps = [step for step in store.asked if step in {"intend", "consume", "claim", "run", "finish"}]
    assert steps == ["intend", "consume", "run", "finish"]
    assert record_of(desk).outcome == "returned"


def test_a_tool_marked_once_claims_before_it_runs_also_when_simply_allowed(desk: Desk, store: Watched) -> None:
    store.asked.clear()
    desk.inside = lambda: store.asked.append("run")
    assert desk.call("balance", "{}") == "42"
    assert [step for step in store.asked if step != "get"] == ["intend", "claim", "run", "finish"]
    assert desk.call("balance", "{}").code == "call_already_executed"
    assert desk.call("balance", "{}", call_id="call-2") == "42"
    assert desk.treasury.broker.recoverable(None, -1) == []


def test_a_call_that_takes_nothing_asks_no_store(desk: Desk, store: Watched) -> None:
    assert desk.call(arguments='{"to": "A7", "amount": 5}') == "moved 5.0 to A7"
    assert store.asked == []


@pytest.mark.parametrize("step", ["intend", "consume", "claim"])
def test_a_store_that_fails_before_the_effect_denies(desk: Desk, store: Watched, step: str) -> None:
    tool, arguments = ("balance", "{}") if step == "claim" else ("transfer", None)
    approval_id = None if step == "claim" else desk.approved()
    store.failing[step] = ApprovalStoreError("down")
    outcome = desk.call(tool, arguments) if approval_id is None else desk.resume(approval_id)
    assert outcome.code == "approval_unavailable"
    assert desk.ran == []


def test_a_store_that_fails_after_the_effect_alarms_and_the_result_passes(
    desk: Desk, store: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    approval_id = desk.approved()
    store.failing["finish"] = ApprovalStoreError("down")
    assert desk.resume(approval_id) == "moved 500.0 to A7"
    assert [line.levelno for line in caplog.records if "approvals recover" in line.message] == [logging.CRITICAL]
    store.failing.clear()
    (unfinished,) = desk.treasury.broker.recoverable(None, -1)
    assert unfinished.may_have_run
    operator = Person("p-tess", frozenset({"treasurer"}))
    desk.treasury.broker.settle(unfinished.intent, "returned", by=operator)
    assert desk.treasury.broker.recoverable(None, -1) == []
    assert record_of(desk).state is ApprovalState.COMPLETED


@pytest.mark.parametrize("step", ["intend", "consume"])
def test_arguments_that_change_while_the_store_is_asked_are_found(desk: Desk, store: Watched, step: str) -> None:
    approval_id = desk.approved()
    outcome = desk.authorize_resume(approval_id)
    (call,) = desk.guard._core.permits._open.values()
    store.after[step] = lambda: call.parsed.__dict__.update(amount=9_000_000.0)
    refused = desk.execute(outcome.permit)
    assert refused.code == "policy_mutated_arguments"
    assert desk.ran == []
    assert (record_of(desk).state, record_of(desk).outcome) == (ApprovalState.COMPLETED, "not_entered")
    assert desk.treasury.broker.recoverable(None, -1) == []


def test_a_handler_that_raises_has_used_the_approval_up(desk: Desk) -> None:
    approval_id = desk.approved()

    def broken() -> None:
        raise LookupError("secret")

    desk.inside = broken
    with pytest.raises(LookupError):
        desk.resume(approval_id)
    assert record_of(desk).outcome == "raised"
    assert desk.resume(approval_id).code == "approval_consumed"


def test_a_refusal_out_of_the_handler_is_no_refusal(desk: Desk) -> None:
    approval_id = desk.approved()

    def nested() -> None:
        raise PolicyRefusalError("inner", "an inner guard said no")

    desk.inside = nested
    with pytest.raises(ToolExecutionError):
        desk.resume(approval_id)
    assert record_of(desk).outcome == "raised"


def test_an_interrupted_handler_leaves_an_unknown_outcome(desk: Desk) -> None:
    approval_id = desk.approved()

    def interrupted() -> None:
        raise SystemExit(1)

    desk.inside = interrupted
    with pytest.raises(SystemExit):
        desk.resume(approval_id)
    assert (record_of(desk).state, record_of(desk).outcome) == (ApprovalState.OUTCOME_UNKNOWN, "unknown")


async def test_cancelling_a_running_async_handler_leaves_an_unknown_outcome(treasury_engines: Any) -> None:
    store = Watched(MemoryApprovalStore())
    desk = Desk(Treasury(engine=treasury_engines["embedded"], store=store), "async")  # type: ignore[arg-type] # a watched store
    outcome = await desk.guard.authorize("transfer", '{"to": "A7", "amount": 500}', agent_name="clerk", principal=KIM, run_context=RUN, call_id="call-1")  # fmt: skip
    desk.treasury.vote(outcome.approval_id)
    inside = asyncio.Event()

    async def forever() -> str:
        inside.set()
        await asyncio.sleep(3600)
        return "never"

    desk.inside = forever
    task = asyncio.ensure_future(desk.guard.resume(outcome.approval_id, principal=KIM, run_context=RUN))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert record_of(desk).state is ApprovalState.OUTCOME_UNKNOWN
    assert (await desk.guard.resume(outcome.approval_id, principal=KIM, run_context=RUN)).code == "approval_consumed"


@pytest.mark.parametrize("missing", ["call_id", "run_id"])
def test_a_tool_marked_once_needs_ids_from_the_application(desk: Desk, missing: str) -> None:
    options: dict[str, Any] = {"call_id": None} if missing == "call_id" else {
        "run_context": RUN.model_copy(update={"run_id": None})
    }  # fmt: skip
    assert desk.call("balance", "{}", **options).code == "policy_input_invalid"
    assert desk.ran == []


def test_a_tool_marked_once_needs_a_store(kind: str, treasury: Treasury) -> None:
    desk = Desk(treasury, kind, approvals=None)
    with pytest.raises(ToolRegistrationError, match="approvals=…"):
        desk.guard.register_function(lambda: None, name="pay", once=True)
    with pytest.raises(ToolRegistrationError, match="once"):
        desk.guard.register_function(lambda: None, name="pay", once="yes")
    with pytest.raises(ToolRegistrationError, match="cost"):
        desk.guard.register_function(lambda: None, name="pay", cost=17)


def test_a_store_for_tools_marked_once_needs_no_approvals(kind: str, treasury: Treasury) -> None:
    desk = Desk(treasury, kind, approvals=None, effects=treasury.store)
    assert desk.call("balance", "{}") == "42"
    assert desk.call("balance", "{}").code == "call_already_executed"
    assert desk.ran == ["balance"]
