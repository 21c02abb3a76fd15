"""The trail's two promises: `required` is durable or refuses; `best_effort` never waits. Neither raises after the fact."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.sink import Resumed, SinkError
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.errors import AuditUnavailableError, ConfigurationError
from aioc_opa.models.audit_event import AuditEvent
from aioc_opa.models.audit_record import EventContent, EventsDropped
from tests.audit.logs import KEY, event, trail, verified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head, Sealed


class Script:
    """A sink that fails, or waits, when the test says so, and keeps what it was given."""

    def __init__(self) -> None:
        self.fails = False
        self.open = threading.Event()
        self.open.set()
        self.records: list[Sealed] = []
        self.closed = 0

    def resume(self, writer: str) -> Resumed:
        if self.fails:
            raise SinkError("down")
        return Resumed(self.records[-1].head if self.records else None)

    def segment_after(self, head: Head | None) -> int:
        return 1

    def append(self, records: Sequence[Sealed]) -> None:
        self.open.wait(20)
        if self.fails:
            raise SinkError("secret-canary")
        self.records += records

    def close(self) -> None:
        self.closed += 1


def scripted(sink: Script, **others: Any) -> AuditTrail:
    return AuditTrail(sink, writer="one", key=KEY, **others)


def contents(folder: Path) -> list[Any]:
    return [record.content for record in LogReader(FolderSource(folder)).records()]


def test_an_intent_is_on_disk_when_its_call_returns(tmp_path: Path) -> None:
    with trail(tmp_path / "log") as opened:
        opened.record_intent(event(1, kind="execution_started"))
        assert [c.event.turn for c in contents(tmp_path / "log") if type(c) is EventContent] == [1]
        opened.record(event(2, kind="execution_completed"))
        assert [c.event.turn for c in contents(tmp_path / "log") if type(c) is EventContent] == [1, 2]


def test_an_intent_that_is_not_durable_is_refused_and_names_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sink = Script()
    with scripted(sink) as opened:
        sink.fails = True
        with pytest.raises(AuditUnavailableError) as refusal:
            opened.record_intent(event())
        sink.fails = False
        opened.record_intent(event())
    assert "canary" not in str(refusal.value) + caplog.text
    assert opened.counts.failures == 1


def test_who_gave_up_waiting_leaves_no_record_of_an_intent() -> None:
    sink = Script()
    sink.open.clear()
    with scripted(sink, timeout_seconds=0.05) as opened:
        opened.record(event(1))  # is being written
        with pytest.raises(AuditUnavailableError):
            opened.record_intent(event(2))
        sink.open.set()
        assert opened.flush(20)
    assert '"turn":2' not in "".join(record.text for record in sink.records)


def test_a_late_failure_alarms_and_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sink = Script()
    with scripted(sink) as opened:
        sink.fails = True
        opened.record(event(kind="execution_completed"))
        sink.fails = False
        assert opened.counts.dropped == 1
    assert any(record.levelno == logging.CRITICAL for record in caplog.records)
    assert "canary" not in caplog.text


async def test_coroutines_wait_without_holding_the_loop() -> None:
    sink = Script()
    sink.open.clear()
    with scripted(sink, timeout_seconds=20) as opened:
        waiting = asyncio.create_task(opened.record_intent_async(event(1)))
        late = asyncio.create_task(opened.record_async(event(2)))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        sink.open.set()
        await waiting
        await late
        sink.fails = True
        with pytest.raises(AuditUnavailableError):
            await opened.record_intent_async(event(3))
        await opened.record_async(event(4))
        sink.fails = False
    assert opened.counts.dropped == 1


async def test_a_cancelled_coroutine_is_cancelled_and_one_out_of_time_refused() -> None:
    sink = Script()
    sink.open.clear()
    with scripted(sink, timeout_seconds=0.05) as opened:
        opened_first = asyncio.create_task(opened.record_intent_async(event(1)))
        with pytest.raises(AuditUnavailableError):
            await opened_first
        task = asyncio.create_task(opened.record_intent_async(event(2)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        sink.open.set()


def test_best_effort_drops_what_does_not_fit_and_says_how_many(caplog: pytest.LogCaptureFixture) -> None:
    sink = Script()
    sink.open.clear()
    with scripted(sink, mode="best_effort", capacity=5) as opened:
        for number in range(100):
            opened.record_intent(event(number))
        assert opened.counts.dropped >= 90
        sink.open.set()
        assert opened.flush(20)
        opened.record(event(1000))
        assert opened.flush(20)
        dropped = opened.counts.dropped
        assert opened.counts.written + dropped == 101
    told = sum(
        int(r.text.split('"count":')[1].split(",")[0].rstrip("}")) for r in sink.records if "events_dropped" in r.text
    )
    assert told == dropped
    assert "dropped" in caplog.text


async def test_best_effort_is_the_same_for_coroutines(tmp_path: Path) -> None:
    with trail(tmp_path / "log", mode="best_effort") as opened:
        await opened.record_async(event(1))
        await opened.record_intent_async(event(2))
    assert [type(c) for c in contents(tmp_path / "log")].count(EventContent) == 2


def test_a_failing_sink_in_best_effort_mode_becomes_a_record_once_it_is_back() -> None:
    sink = Script()
    with scripted(sink, mode="best_effort") as opened:
        sink.fails = True
        opened.record(event(1))
        assert not opened.flush(0.3) or opened.counts.failures
        sink.fails = False
        opened.record(event(2))
        assert opened.flush(20)
    assert any(EventsDropped.__name__ and '"type":"events_dropped"' in record.text for record in sink.records)


def test_a_sink_that_is_down_at_the_start_alarms_and_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    sink = Script()
    sink.fails = True
    with scripted(sink) as opened:
        assert "cannot be used now" in caplog.text
        sink.fails = False
        opened.record_intent(event())
    assert sink.records


def test_many_threads_make_one_chain(tmp_path: Path) -> None:
    with trail(tmp_path / "log", checkpoint_records=10) as opened:
        threads = [
            threading.Thread(target=lambda: [opened.record_intent(event(number)) for number in range(10)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert verified(tmp_path / "log").sound
    assert [type(c) for c in contents(tmp_path / "log")].count(EventContent) == 80


def test_a_forked_child_is_not_the_writer_and_does_not_hold_its_lock(tmp_path: Path) -> None:
    parent = trail(tmp_path / "log")
    parent.record_intent(event(1))
    child = os.fork()
    if child == 0:
        try:
            parent.record_intent(event(2))
        except AuditUnavailableError:
            parent.record(event(3))
            os._exit(0 if not parent.flush() and not parent.close() else 1)
        os._exit(2)
    try:
        parent.close()
        with trail(tmp_path / "log") as again:  # while the child may live
            again.record_intent(event(4))
    finally:
        assert os.waitpid(child, 0)[1] == 0
    assert verified(tmp_path / "log").sound


def test_what_comes_after_the_end_is_dropped() -> None:
    sink = Script()
    opened = scripted(sink)
    assert opened.close()
    assert opened.close()
    with pytest.raises(AuditUnavailableError):
        opened.record_intent(event())
    opened.record(event())
    assert opened.counts.dropped == 2


def test_a_close_that_is_out_of_time_says_so() -> None:
    sink = Script()
    sink.open.clear()
    opened = scripted(sink, mode="best_effort", capacity=5000)
    for number in range(600):  # more than one batch
        opened.record(event(number))
    assert not opened.close(0.2)
    sink.open.set()
    assert opened.counts.dropped


def test_checkpoints_follow_by_number_and_by_time() -> None:
    sink = Script()
    with scripted(sink, checkpoint_records=3) as opened:
        for number in range(5):
            opened.record_intent(event(number))
        kinds = ["checkpoint" in record.text for record in sink.records]
        assert kinds == [False, False, False, True, False, False, False, True]
    timed = Script()
    with scripted(timed, checkpoint_seconds=0.01) as opened:
        opened.record_intent(event())
        assert opened.flush(20)
        assert '"type":"checkpoint"' in timed.records[-1].text
        timed.fails = True
        opened.record(event())
        timed.fails = False


@pytest.mark.parametrize(
    "wrong",
    [{"writer": "a.b"}, {"writer": ""}, {"mode": "maybe"}, {"timeout_seconds": 0}, {"capacity": 0}, {"checkpoint_records": 0},
     {"checkpoint_seconds": float("inf")}, {"tenant_keys": {"acme": b"short"}}],
)  # fmt: skip
def test_what_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        AuditTrail(Script(), **{"writer": "one", "key": KEY, **wrong})


def test_an_event_that_is_none_takes_no_other_with_it(caplog: pytest.LogCaptureFixture) -> None:
    sink = Script()
    broken = AuditEvent.model_construct(kind="access", at=object())
    with scripted(sink, mode="best_effort") as opened:
        for one in (event(1), broken, event(2)):
            opened.record(one)
        assert opened.flush(20)
    assert opened.counts.written == 2
    assert opened.counts.dropped == 1
    assert "not known to be durable" in caplog.text


def test_the_thread_outlives_whatever_a_sink_raises() -> None:
    class Exits(Script):
        def append(self, records: Sequence[Sealed]) -> None:
            if self.fails:
                raise SystemExit
            super().append(records)

    sink = Exits()
    with scripted(sink, checkpoint_seconds=1000) as opened:
        opened.record_intent(event(1))
        sink.fails = True
        with pytest.raises(AuditUnavailableError):
            opened.record_intent(event(2))
        assert not opened.flush(0.05)  # nor can a checkpoint be written
        sink.fails = False
        opened.record_intent(event(3))
