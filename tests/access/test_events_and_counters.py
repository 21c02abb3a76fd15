"""Events and counters are bounded, and affect nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from aioc_opa.access.counters import BoundedSeries, Counters, MemoryCounters
from aioc_opa.access.events import BackgroundSink, EventSink, LoggingSink
from aioc_opa.access.gate import AccessGate, AccessGranted
from aioc_opa.access.identities import IdentityBindings
from aioc_opa.engines.deadline import Deadline
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.principal import Principal
from tests.access.gating import KIM, Adapter, Gate, Remembering, question, result


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def emit(self, event: object) -> None:
        raise self.error

    def add(self, name: str, labels: object) -> None:
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("secret"), asyncio.CancelledError("secret")])
async def test_a_sink_and_counters_that_fail_affect_nothing_and_their_texts_are_not_logged(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(error)
    gate = Gate(events=broken, counters=broken)
    assert type(gate.ask()) is AccessGranted
    assert type(await gate.ask_async()) is AccessGranted
    assert gate.refused(question("other"))[0] == "tool_not_authorized"
    assert "raised" in caplog.text
    assert "secret" not in caplog.text
    with pytest.raises(KeyboardInterrupt):
        Gate(events=Broken(KeyboardInterrupt())).ask()


def test_refusals_are_logged_as_warnings_and_the_rest_as_info(caplog: pytest.LogCaptureFixture) -> None:
    gate = AccessGate(identities=IdentityBindings([KIM]))
    caplog.set_level(logging.WARNING, "aioc_opa.access")
    gate.authorize(question(), Deadline.after(30))
    assert caplog.records == []
    gate.authorize(question("other"), Deadline.after(30))
    (record,) = caplog.records
    assert json.loads(record.getMessage())["detailCode"] == "tool_not_in_allow_list"
    caplog.clear()
    caplog.set_level(logging.INFO, "aioc_opa.access")
    gate.authorize(question(), Deadline.after(30))
    assert [json.loads(one.getMessage())["type"] for one in caplog.records] == [
        "tool.authorization.requested",
        "tool.authorization.decided",
    ]
    assert isinstance(LoggingSink(), EventSink)
    assert isinstance(MemoryCounters(), Counters)


def test_a_name_cannot_break_the_line_of_a_log(caplog: pytest.LogCaptureFixture) -> None:
    gate = AccessGate(identities=IdentityBindings())
    odd = "kim\n\u2028\u202e\x1b[31m\x7f"
    gate.authorize(question(principal=Principal(identity=odd)), Deadline.after(30))
    (record,) = caplog.records
    text = record.getMessage()
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(record.getMessage())["identity"] == odd


def test_a_question_that_is_not_sound_is_told_under_its_ids(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    asked = question(capability="x" * 129)
    assert gate.refused(asked) == ("tool_not_authorized", "question_invalid")
    last = gate.sink.events[-1]
    assert (last.request_id, last.detail_code, last.identity) == (asked.request_id, "question_invalid", "kim")
    assert last.tool_name.startswith("sha256:")
    assert gate.refused(question(request_id="free text")) == ("tool_not_authorized", "question_invalid")
    assert gate.sink.events[-1] is last


@pytest.mark.parametrize(
    "changes",
    [{}, {"principal": None}, {"principal": {"identity": "kim"}}, {"registered": None}, {"capability": "x" * 129}],
    ids=["allowed", "nobody", "no principal", "not registered", "not sound"],
)
@pytest.mark.parametrize("fails", [False, True], ids=["found", "directory fails"])
def test_every_question_has_one_requested_and_one_decided_event_whoever_asks(
    changes: dict[str, Any], *, fails: bool
) -> None:
    class Failing:
        def find(self, identity: str) -> Any:
            raise OSError(identity)

    sink = Remembering()
    gate = AccessGate(identities=Failing() if fails else IdentityBindings([KIM]), events=sink)
    asked = question(**changes)
    outcome = gate.authorize(asked, Deadline.after(30))
    assert (type(outcome) is AccessGranted) == (not changes and not fails)
    assert sink.types == ["tool.authorization.requested", "tool.authorization.decided"]
    assert {event.request_id for event in sink.events} == {asked.request_id}


def test_a_background_sink_hands_over_in_order_and_outlives_a_sink_that_raises(
    caplog: pytest.LogCaptureFixture,
) -> None:
    remembered = Remembering()

    class Fussy:
        def emit(self, event: Any) -> None:
            if event.tool_name == "lookup":
                raise OSError("secret")
            remembered.emit(event)

    sink = BackgroundSink(Fussy())
    gate = Gate(events=sink)
    for name in ("refund", "lookup", "refund"):
        gate.ask(question(name))
    sink.close()
    assert remembered.types == ["tool.authorization.requested", "tool.authorization.decided"] * 2
    assert sink.dropped == 2
    assert "secret" not in caplog.text
    gate.ask()
    assert sink.dropped == 4
    with pytest.raises(ConfigurationError):
        BackgroundSink(remembered, capacity=0)


def test_a_background_sink_that_hangs_is_not_waited_for_and_drops_what_does_not_fit() -> None:
    entered, go = threading.Event(), threading.Event()

    class Hanging:
        def emit(self, event: Any) -> None:
            entered.set()
            go.wait(30)

    sink = BackgroundSink(Hanging(), capacity=1)
    gate = Gate(events=sink)
    gate.ask()
    assert entered.wait(30)
    gate.ask()
    gate.ask()
    sink.close(seconds=0.01)
    assert sink.dropped == 4
    go.set()


def test_trussiums_counters_have_one_label_and_ours_has_tool_and_reason() -> None:
    gate = Gate(adapter=Adapter(lambda request: result("deny", "nope")))
    gate.ask()
    gate.ask(question("secret-name", registered=None))
    assert gate.counters.snapshot() == {
        ("trussium_tool_authorization_decisions", (("decision", "deny"),)): 2,
        ("aioc_opa_tool_authorization_reasons", (("reason", "nope"), ("tool", "refund"))): 1,
        (
            "aioc_opa_tool_authorization_reasons",
            (("reason", "tool_not_registered"), ("tool", "unregistered")),
        ): 1,
    }


def test_codes_that_an_adapter_makes_up_do_not_grow_the_series() -> None:
    series = BoundedSeries(limit=2)
    assert series.labels("a", "x") == {"tool": "a", "reason": "x"}
    assert series.labels("a", "y") == {"tool": "a", "reason": "y"}
    assert series.labels("a", "z") == {"tool": "other", "reason": "other"}
    assert series.labels("a", "x") == {"tool": "a", "reason": "x"}


def test_counting_from_many_threads_loses_nothing() -> None:
    gate = Gate()
    threads = [threading.Thread(target=lambda: [gate.ask() for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gate.counters.snapshot()["trussium_tool_authorization_decisions", (("decision", "allow"),)] == 200
