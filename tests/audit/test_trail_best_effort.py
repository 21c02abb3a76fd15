"""What a trail does in best effort mode, at its end, in a child process, and with settings that cannot work."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.errors import AuditUnavailableError, ConfigurationError
from aioc_opa.models.audit_event import AuditEvent
from aioc_opa.models.audit_record import EventContent, EventsDropped
from tests.audit.logs import KEY, event, trail, verified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aioc_opa.core.audit.chain import Sealed
from tests.audit.scripted_sink import Script, contents, scripted


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


def test_a_child_that_has_not_come_to_let_go_of_the_lock_keeps_nobody_from_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JsonLinesSink, "in_child", lambda _: time.sleep(60))
    parent = trail(tmp_path / "log")
    child = os.fork()
    if child == 0:
        os._exit(2)
    try:
        parent.close()
        trail(tmp_path / "log").close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
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
