"""In best effort mode an event is made by the thread that writes it: of facts that were taken when it happened."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from aioc_opa import Principal
from aioc_opa.decision_event import UnmadeEvent, event_of
from tests.test_guard_audit import CANARY, Audited, kind

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

__all__ = ["kind"]  # a fixture


def test_what_waits_holds_nothing_of_the_call_but_facts(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Audited(kind, tmp_path / "log", mode="best_effort")
    handed: list[Any] = []
    monkeypatch.setattr(one.trail, "_submit", handed.append)
    one.call()
    decided = handed[0]
    assert type(decided) is UnmadeEvent
    assert {type(value) for value in decided.facts.values()} <= {
        str,
        int,
        float,
        tuple,
        type(None),
        Principal,
    }
    assert CANARY not in "".join(map(str, decided.facts.values()))
    assert CANARY not in repr(decided)


def test_its_time_is_when_it_happened_and_its_thread_is_not_the_callers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers: list[str] = []

    def made(name: Any, **facts: Any) -> Any:
        makers.append(threading.current_thread().name)
        return event_of(name, **facts)

    monkeypatch.setattr("aioc_opa.decision_event.event_of", made)
    one = Audited(kind, tmp_path / "log", mode="best_effort")
    one.call()
    decided, started, _ = one.events()
    assert decided["kind"] == "tool_policy"
    assert decided["at"] <= started["at"]
    assert makers == ["aioc-opa-audit"]


def test_facts_that_are_no_event_are_counted_as_dropped(tmp_path: Path) -> None:
    one = Audited("sync", tmp_path / "log", mode="best_effort")
    one.trail.record(UnmadeEvent("tool_policy", {"decision": CANARY}))
    one.trail.record(UnmadeEvent("tool_policy", {"decision": "deny", "reason": "because"}))
    assert [event["reason"] for event in one.events()] == ["because"]
    assert (one.trail.counts.written, one.trail.counts.dropped) == (1, 1)
    assert CANARY not in one.everything()
