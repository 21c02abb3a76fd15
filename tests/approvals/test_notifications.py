"""Telling people: nothing is waited for, nothing is raised, no arguments unless configured (issue: "Waiting")."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from aioc_opa.approvals.dispatcher import BackgroundDispatcher, DeliveryCounts
from aioc_opa.approvals.notifications import NotificationQueue, Notifier, notice_of, wants_arguments
from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.models.approval_notice import MAX_NOTICE_ARGUMENTS, ApprovalNotice
from tests.approvals.notices import ARGUMENTS, CANARY, notice, record

if TYPE_CHECKING:
    from collections.abc import Callable


class Told:
    """A notifier that takes its time until `let` is set, and raises what it is told to."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.told: list[tuple[str, str]] = []
        self.let = threading.Event()
        self.entered = threading.Event()
        self.error = error

    def approval_requested(self, notice: ApprovalNotice) -> None:
        self._tell("requested", notice)

    def approval_decided(self, notice: ApprovalNotice) -> None:
        self._tell("decided", notice)

    def _tell(self, kind: str, notice: ApprovalNotice) -> None:
        self.entered.set()
        assert self.let.wait(20)
        if self.error is not None:
            raise self.error
        self.told.append((kind, notice.approval_id))


def test_a_notice_says_who_is_asked_and_until_when_and_nothing_of_the_arguments() -> None:
    made = notice_of(record())
    assert CANARY not in made.model_dump_json()
    assert made.approver_roles == ("lead", "treasury")
    assert made.expires_at == "2026-05-28T20:36:40.000Z"
    assert (made.tenant, made.run_id, made.call_id, made.tool_name) == ("acme", "run-1", "call-1", "refund")
    assert made.state is ApprovalState.PENDING
    assert made.arguments_omitted is None


def test_no_tenant_is_absent() -> None:
    assert "tenant" not in notice_of(record(tenant=NO_TENANT)).model_dump(by_alias=True, exclude_none=True)


def test_arguments_are_in_a_notice_when_asked_for_and_never_in_its_repr() -> None:
    made = notice_of(record(), arguments=True)
    assert made.args_canonical_json == ARGUMENTS
    assert CANARY not in repr(made)
    assert made.arguments_omitted is None


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "{",
        "[]",
        "{}",
        '{"argsCanonicalJson": 1}',
        '{"argsCanonicalJson": "' + "x" * (MAX_NOTICE_ARGUMENTS + 1) + '"}',
        '{"argsCanonicalJson": ' * 100_000,
    ],
    ids=["purged", "cut", "list", "empty", "number", "long", "deep"],
)
def test_arguments_that_are_not_there_or_too_long_are_left_out_whole_and_the_notice_says_so(
    payload: str | None,
) -> None:
    made = notice_of(record(payload=payload), arguments=True)
    assert made.args_canonical_json is None
    assert made.arguments_omitted is True


def test_a_notice_is_closed_and_bounded() -> None:
    with pytest.raises(ValidationError):
        notice(surprise=1)
    with pytest.raises(ValidationError):
        notice(tool_name="x" * 129)
    with pytest.raises(ValidationError):
        notice(reason="a sentence")


def test_arguments_are_wanted_only_by_exactly_true() -> None:
    told: Any = Told()
    assert isinstance(told, Notifier)
    assert not wants_arguments(told)
    told.arguments = "yes"
    assert not wants_arguments(told)
    told.arguments = True
    assert wants_arguments(told)
    with NotificationQueue(told) as queue:
        assert wants_arguments(queue)


def test_the_caller_does_not_wait_for_a_slow_notifier_and_order_is_kept() -> None:
    told = Told()
    with NotificationQueue(told) as queue:
        queue.approval_requested(notice(1))
        queue.approval_decided(notice(1, state=ApprovalState.APPROVED))
        queue.approval_requested(notice(2))
        assert told.told == []
        told.let.set()
        assert queue.close(20)
        assert queue.counts == DeliveryCounts(delivered=3)
    assert told.told == [("requested", notice(1).approval_id), ("decided", notice(1).approval_id),
                         ("requested", notice(2).approval_id)]  # fmt: skip


def test_what_comes_on_top_of_the_capacity_is_dropped_and_counted() -> None:
    told = Told()
    with NotificationQueue(told, capacity=2) as queue:
        for number in range(5):
            queue.approval_requested(notice(number))
        assert queue.counts == DeliveryCounts(dropped=3)
        told.let.set()
        assert queue.close(20)
        assert queue.counts == DeliveryCounts(delivered=2, dropped=3)
        queue.approval_requested(notice(9))
        assert queue.counts == DeliveryCounts(delivered=2, dropped=4)


@pytest.mark.parametrize("error", [RuntimeError(CANARY), SystemExit(CANARY), KeyboardInterrupt(CANARY)])
def test_a_notifier_that_raises_is_counted_its_text_logged_nowhere_and_the_next_notice_told(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told(error)
    told.let.set()
    with caplog.at_level(logging.DEBUG), NotificationQueue(told) as queue:
        queue.approval_requested(notice(1))
        queue.approval_requested(notice(2))
        assert queue.close(20)
        assert queue.counts == DeliveryCounts(failed=2)
    assert CANARY not in caplog.text
    assert type(error).__name__ in caplog.text


def test_close_gives_up_on_what_hangs_and_counts_it() -> None:
    told = Told()
    with NotificationQueue(told) as queue:
        queue.approval_requested(notice(1))
        queue.approval_requested(notice(2))
        assert told.entered.wait(20)
        assert not queue.close(0.01)
        assert queue.counts == DeliveryCounts(dropped=2)
        told.let.set()
        assert queue.close(0)
        assert queue.counts == DeliveryCounts(dropped=2)


def run(deliver: Callable[[int, int], float | None]) -> BackgroundDispatcher[int]:
    return BackgroundDispatcher(deliver, capacity=10, name="test")


def test_an_item_that_waits_for_its_next_attempt_is_passed_by_the_others() -> None:
    seen: list[tuple[int, int]] = []
    second = threading.Event()

    def deliver(item: int, attempt: int) -> float | None:
        seen.append((item, attempt))
        if item == 1 and attempt == 1:
            return 0.05
        if item == 2:
            second.set()
        return None

    dispatcher = run(deliver)
    assert dispatcher.submit(1)
    assert dispatcher.submit(2)
    assert second.wait(20)
    assert dispatcher.close(20)
    assert seen == [(1, 1), (2, 1), (1, 2)]
    assert dispatcher.counts == DeliveryCounts(delivered=2)


def test_close_does_not_wait_for_an_attempt_that_is_due_after_its_time() -> None:
    tried = threading.Event()

    def deliver(item: int, attempt: int) -> float | None:
        tried.set()
        return 1000.0

    waiting = run(deliver)
    waiting.submit(1)
    assert tried.wait(20)
    while not waiting._due:  # it is put back after `deliver` returned
        threading.Event().wait(0.001)
    assert not waiting.close(100)
    assert waiting.counts == DeliveryCounts(dropped=1)


def test_an_attempt_that_fails_while_closing_is_dropped_when_its_next_is_due_too_late() -> None:
    entered, let = threading.Event(), threading.Event()

    def deliver(item: int, attempt: int) -> float | None:
        entered.set()
        assert let.wait(20)
        return 1000.0

    dispatcher = run(deliver)
    dispatcher.submit(1)
    assert entered.wait(20)
    threading.Timer(0.01, let.set).start()
    assert dispatcher.close(100)
    assert dispatcher.counts == DeliveryCounts(dropped=1)


def test_an_attempt_that_ends_after_close_gave_up_is_not_counted_twice() -> None:
    entered, let = threading.Event(), threading.Event()

    def deliver(item: int, attempt: int) -> float | None:
        entered.set()
        assert let.wait(20)
        return 0.0

    dispatcher = run(deliver)
    dispatcher.submit(1)
    assert entered.wait(20)
    assert not dispatcher.close(0)
    let.set()
    thread = dispatcher._thread
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()
    assert dispatcher.counts == DeliveryCounts(dropped=1)


def test_without_a_thread_an_item_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    dispatcher = run(lambda item, attempt: None)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert not dispatcher.submit(1)
    assert dispatcher.counts == DeliveryCounts(dropped=1)


def test_a_queue_needs_room() -> None:
    with pytest.raises(ValueError, match="capacity"):
        BackgroundDispatcher(lambda item, attempt: None, capacity=0, name="test")


def test_a_forked_child_starts_empty_and_tells_by_a_thread_of_its_own() -> None:
    told = Told()
    queue = NotificationQueue(told)
    queue.approval_requested(notice(1))
    assert told.entered.wait(20)
    with queue._dispatcher._changed:  # as another thread may hold it at that moment
        child = os.fork()
        if child == 0:
            told.let.set()
            queue.approval_requested(notice(2))
            fine = queue.close(20) and queue.counts == DeliveryCounts(delivered=1)
            os._exit(0 if fine and told.told == [("requested", notice(2).approval_id)] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    told.let.set()
    assert queue.close(20)
    assert queue.counts == DeliveryCounts(delivered=1)
    assert told.told == [("requested", notice(1).approval_id)]
