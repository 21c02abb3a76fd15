"""The trail's two promises: `required` is durable or refuses; `best_effort` never waits. Neither raises after the fact."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import AuditUnavailableError
from aioc_opa.models.audit_record import EventContent
from tests.audit.logs import event, trail

if TYPE_CHECKING:
    from pathlib import Path

from tests.audit.scripted_sink import Script, contents, scripted


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
