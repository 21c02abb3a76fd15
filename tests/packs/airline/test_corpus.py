"""All 572 recorded calls: decision and reasons as expected.jsonl has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.packs.airline.engines import Ruling
from tests.packs.airline.reference import decide

if TYPE_CHECKING:
    from tests.packs.airline.engines import PackEngine

Lines = list[dict[str, Any]]


def test_every_recorded_call_is_decided_as_expected(pack: PackEngine, recorded: Lines, expected: Lines) -> None:
    assert [call["id"] for call in recorded] == [label["id"] for label in expected]
    differing = {
        call["id"]: (ruling, label)
        for call, label in zip(recorded, expected, strict=True)
        if (ruling := pack.rule(call)) != Ruling(label["decision"], tuple(label["reasons"]))
    }
    assert differing == {}
    assert len(recorded) == 572


def test_the_python_implementation_decides_every_recorded_call_as_expected(recorded: Lines, expected: Lines) -> None:
    for call, label in zip(recorded, expected, strict=True):
        ruling = decide(call["toolName"], json.loads(call["rawArguments"]), call["runContext"]["context"])
        assert ruling == (label["decision"], tuple(label["reasons"])), call["id"]
