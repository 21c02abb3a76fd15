"""Approvals of step 1: a finite wait, for one question, without arguments; whoever decides too late is told."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest

from aioc_opa.access.budgets import BudgetLimits, Budgets, MemoryBudgetLedger
from aioc_opa.access.fingerprint import access_fingerprint
from aioc_opa.access.gate import AccessGranted, AccessRefused
from aioc_opa.access.in_process_approvals import DecisionReceipt, InProcessApprovals
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.tool_authorization import ToolApprovalRequest, ToolApprovalResult
from tests.access.gating import Approvals, Gate, answering, question

HOLD = answering("approval_required", "first_use")


def held(approvals: Any, **settings: Any) -> Gate:
    return Gate(adapter=HOLD, approvals=approvals, **settings)


def answer(request: ToolApprovalRequest, decision: Any = "approved", **changes: Any) -> ToolApprovalResult:
    made = ToolApprovalResult.answering(request, decision, reason_code="said_so", decided_by="ann")
    return made.model_copy(update=changes)


def decider(verdict: Any, by: str = "ann") -> InProcessApprovals:
    people = InProcessApprovals(lambda request: people.decide(request.request_id, verdict, by))
    return people


async def wait_for_one(people: InProcessApprovals) -> ToolApprovalRequest:
    while not people.pending():  # noqa: ASYNC110 - it has no event, and is asked from other threads elsewhere
        await asyncio.sleep(0.001)
    return people.pending()[0]


async def test_the_request_names_the_call_without_arguments_and_ends_within_ten_seconds() -> None:
    seen = Approvals(answer)
    asked = question()
    outcome = await held(seen).ask_async(asked, seconds=200)
    assert type(outcome) is AccessGranted
    (request,) = seen.requests
    assert set(ToolApprovalRequest.model_fields) == {
        "request_id", "parent_execution_id", "tool_name", "tool_version", "identity", "created_at", "expires_at",
        "reason_code", "fingerprint",
    }  # fmt: skip
    assert request.request_id == asked.request_id
    assert request.reason_code == "first_use"
    opened, ends = request.created_at, request.expires_at
    assert datetime.fromisoformat(ends) - datetime.fromisoformat(opened) == timedelta(seconds=10)


def test_its_fingerprint_is_that_of_the_call_and_never_the_hash_of_a_proposal() -> None:
    seen = Approvals(answer)
    held(seen).ask(question())
    facts = {"identity": "kim", "tenant": "acme", "tool_name": "refund", "tool_version": "1.0", "run_id": "run-1"}
    assert seen.requests[0].fingerprint == access_fingerprint(**facts, call_id="call-1")
    assert seen.requests[0].fingerprint != access_fingerprint(**facts, call_id="call-2")
    # The text is another kind of object, so no proposal has this hash.
    assert access_fingerprint(**facts, call_id="c") != tool_proposal_hash(
        agent_name="kim", tool_name="refund", args_canonical_json="{}"
    )
    assert access_fingerprint(identity="a", tenant=None, tool_name="b", tool_version=None, run_id="r", call_id="c") == (
        hashlib.sha256(
            b'{"callId":"c","identity":"a","kind":"access","runId":"r","tenant":null,"toolName":"b","toolVersion":null}'
        ).hexdigest()
    )


def test_without_an_adapter_there_is_nobody_to_ask_and_no_call() -> None:
    assert Gate(adapter=HOLD).refused() == ("tool_not_authorized", "approval_not_configured")


async def test_approved_and_denied_are_decided_with_who_decided() -> None:
    for verdict, code in (("approved", "approved_by_person"), ("denied", "denied_by_person")):
        for ask in ("ask", "ask_async"):
            gate = held(decider(verdict))
            outcome = getattr(gate, ask)()
            outcome = await outcome if ask == "ask_async" else outcome
            assert (type(outcome) is AccessGranted) == (verdict == "approved")
            assert gate.sink.types == [
                "tool.authorization.requested",
                "tool.authorization.decided",
                "tool.approval.requested",
                "tool.approval.decided",
            ]
            last = gate.sink.events[-1]
            assert (last.decision, last.detail_code, last.decided_by) == (verdict, code, "ann")
            assert gate.sink.events[1].decision == "approval_required"
            assert gate.counters.snapshot()["trussium_tool_approval_decisions", (("decision", verdict),)] == 1


async def test_nobody_decides_and_the_call_times_out_with_an_event() -> None:
    for ask in ("ask", "ask_async"):
        gate = held(InProcessApprovals())
        outcome = getattr(gate, ask)(seconds=0.05)
        outcome = await outcome if ask == "ask_async" else outcome
        assert type(outcome) is AccessRefused
        assert (outcome.reason, outcome.detail_code) == ("approval_timed_out", "approval_expired")
        assert gate.sink.types[-1] == "tool.approval.expired"
        assert gate.counters.snapshot()["trussium_tool_approval_decisions", (("decision", "expired"),)] == 1


async def test_a_decision_from_another_thread_wakes_the_loop() -> None:
    people = InProcessApprovals()
    asking = asyncio.create_task(held(people).ask_async())
    request = await wait_for_one(people)
    receipt = await asyncio.to_thread(people.decide, request.request_id, "approved", "ann")
    assert receipt == DecisionReceipt(counted=True, code="counted")
    assert type(await asking) is AccessGranted
    assert people.pending() == ()


async def test_late_double_and_contradictory_decisions_change_nothing_and_are_told() -> None:
    people = InProcessApprovals()
    asking = asyncio.create_task(held(people).ask_async())
    request_id = (await wait_for_one(people)).request_id
    assert people.decide("unheard-of", "approved", "ann").code == "unknown"
    assert people.decide(["x"], "approved", "ann").code == "unknown"  # type: ignore[arg-type] # from outside
    assert people.decide(request_id, "yes", "ann").code == "invalid"  # type: ignore[arg-type] # likewise
    assert people.decide(request_id, "approved", "").code == "invalid"
    assert people.decide(request_id, "approved", "kim").code == "requester_may_not_decide"
    assert people.decide(request_id, "denied", "ann").counted
    assert people.pending() == ()
    for verdict in ("approved", "denied"):
        assert people.decide(request_id, verdict, "bea") == DecisionReceipt(counted=False, code="already_denied")  # type: ignore[arg-type] # both are verdicts
    assert type(await asking) is AccessRefused
    assert people.decide(request_id, "approved", "bea").code == "already_denied"
    late = held(people)
    asked = question()
    late.ask(asked, seconds=0.02)
    assert people.decide(asked.request_id, "approved", "ann") == DecisionReceipt(counted=False, code="expired")


def test_a_decision_after_the_end_but_before_the_waiter_woke_is_late() -> None:
    people = InProcessApprovals()
    seen = Approvals(answer)
    held(seen).ask(question())
    one = people._open(seen.requests[0], lambda: None)
    assert one is not None
    one.ends -= 3600  # type: ignore[misc] # as if the time had come
    assert people.decide(seen.requests[0].request_id, "approved", "ann").code == "expired"


async def test_cancelling_a_caller_that_has_no_task_yet_asks_nobody() -> None:
    people = InProcessApprovals()
    asking = asyncio.create_task(held(people).ask_async())
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert people.pending() == ()


async def test_cancelling_the_caller_ends_the_pending_request_with_an_event_and_gives_the_budget_back() -> None:
    people = InProcessApprovals()
    ledger = MemoryBudgetLedger()
    gate = held(people, budgets=Budgets(ledger, BudgetLimits(calls_per_run=1)))
    asking = asyncio.create_task(gate.ask_async())
    request_id = (await wait_for_one(people)).request_id
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0)
    assert gate.sink.types[-1] == "tool.approval.cancelled"
    assert gate.sink.types.count("tool.authorization.decided") == 1
    assert people.pending() == ()
    assert people.decide(request_id, "approved", "ann") == DecisionReceipt(counted=False, code="cancelled")
    assert gate.counters.snapshot()["trussium_tool_approval_decisions", (("decision", "cancelled"),)] == 1
    assert [spent for spent, _ in ledger._spent.values()] == [0]


def test_a_keyboard_interrupt_ends_it_likewise() -> None:
    class Interrupted:
        keeps_deadlines = True

        def request_approval_sync(self, request: object) -> object:
            raise KeyboardInterrupt

    gate = held(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        gate.ask()
    assert gate.sink.types[-1] == "tool.approval.cancelled"


def test_an_approval_counts_once_a_remembered_one_is_no_answer() -> None:
    remembered: list[ToolApprovalResult] = []

    def replay(request: ToolApprovalRequest) -> ToolApprovalResult:
        remembered.append(answer(request))
        return remembered[0]

    gate = held(Approvals(replay))
    assert type(gate.ask(question())) is AccessGranted
    assert gate.refused(question()) == ("tool_not_authorized", "approval_malformed")


class Sub(ToolApprovalResult):
    pass


HOSTILE: dict[str, tuple[Any, str]] = {
    "raises": (lambda _: 1 / 0, "approval_failed"),
    "returns True": (lambda _: True, "approval_malformed"),
    "returns a word": (lambda _: "approved", "approval_malformed"),
    "another fingerprint": (lambda asked: answer(asked, fingerprint="0" * 64), "approval_malformed"),
    "an unknown decision": (
        lambda asked: vars(made := answer(asked)).update(decision="yes") or made,
        "approval_malformed",
    ),
    "a reserved reason": (lambda asked: answer(asked, reason_code="tool_not_authorized"), "approval_malformed"),
    "free text": (lambda asked: answer(asked, reason_code="Because!"), "approval_malformed"),
    "somebody unnameable": (lambda asked: answer(asked, decided_by="x" * 129), "approval_malformed"),
    "one field more": (lambda asked: vars(made := answer(asked)).update(x=1) or made, "approval_malformed"),
    "a subclass": (lambda asked: Sub(**answer(asked).model_dump()), "approval_malformed"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_approval_adapter_is_a_deny(name: str) -> None:
    respond, code = HOSTILE[name]
    gate = held(Approvals(respond))
    assert gate.refused() == ("tool_not_authorized", code)
    assert (gate.sink.types[-1], gate.sink.events[-1].decision) == ("tool.approval.decided", "denied")


def test_an_approval_that_comes_late_has_expired() -> None:
    hang = threading.Event()
    gate = held(Approvals(lambda asked: hang.wait(0.2) or answer(asked)))
    assert gate.refused(seconds=0.03) == ("approval_timed_out", "approval_expired")
    said_so = held(Approvals(lambda asked: answer(asked, "expired")))
    assert said_so.refused() == ("approval_timed_out", "approval_expired")


def test_pending_requests_are_bounded_and_none_is_asked_twice() -> None:
    seen = Approvals(answer)
    held(seen).ask(question())
    held(seen).ask(question())
    people = InProcessApprovals(capacity=1, remembered=1)
    first, second = seen.requests
    one = people._open(first, lambda: None)
    assert people.request_approval_sync(first).reason_code == "too_many_pending"
    assert people.request_approval_sync(second).reason_code == "too_many_pending"
    assert asyncio.run(people.request_approval(second)).decision == "denied"
    assert one is not None
    people._close(one, "cancelled")
    other = people._open(second, lambda: None)
    assert other is not None
    people._close(other, "cancelled")
    assert people.decide(first.request_id, "approved", "ann").code == "unknown"  # one is remembered
    for settings in ({"capacity": 0}, {"remembered": 0}, {"capacity": True}):
        with pytest.raises(ConfigurationError):
            InProcessApprovals(**settings)  # type: ignore[arg-type] # that is the point


def test_a_notification_that_fails_denies_and_leaves_nothing_pending() -> None:
    def broken(_: object) -> None:
        raise OSError("secret")

    people = InProcessApprovals(broken)
    assert held(people).refused() == ("tool_not_authorized", "approval_failed")
    assert people.pending() == ()


def test_a_decision_for_a_loop_that_is_gone_is_no_error() -> None:
    seen = Approvals(answer)
    held(seen).ask(question())
    people = InProcessApprovals()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(people.request_approval(seen.requests[0]))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert people.decide(seen.requests[0].request_id, "approved", "ann").counted
    waiting._log_destroy_pending = False  # type: ignore[attr-defined] # it is left behind on purpose
    waiting.get_coro().close()  # type: ignore[union-attr] # likewise
