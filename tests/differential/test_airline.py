"""The library and the airline pack on both engines: the recorded calls, and the same with something broken."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH, Engine
from tests.differential.airline_calls import body_of, broken, recorded_calls
from tests.differential.comparison import classify
from tests.differential.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROUNDS = max(1, int(os.environ.get("AIOC_FUZZ_VERDICTS", "0")) // 10_000)


@pytest.fixture(scope="module")
def engines(repository: Path, opa_binary: Path) -> Iterator[tuple[Engine, Engine]]:
    with LocalOpaEngine(repository / "rego", opa_binary=opa_binary) as opa:
        yield opa, EmbeddedEngine(repository / "rego")


def ask(engine: Engine, question: dict[str, Any]) -> tuple[str, Any]:
    try:
        answer = engine.evaluate(TOOL_POLICY_PATH, body_of(question), Deadline.after(60))
    except EngineFailureError as failure:
        return "error", failure.detail
    return ("undefined", None) if answer.result is UNDEFINED else ("value", answer.result)


def test_every_recorded_call_is_decided_as_expected_and_alike(engines: tuple[Engine, Engine], repository: Path) -> None:
    opa, embedded = engines
    decided = 0
    for question, expected in recorded_calls(repository / "examples/airline"):
        theirs, mine = ask(opa, question), ask(embedded, question)
        assert theirs == mine, question["callId"]
        assert mine[0] == "value"
        assert (mine[1]["decision"], mine[1]["reasons"]) == (expected["decision"], expected["reasons"]), question[
            "callId"
        ]
        decided += 1
    assert decided == 572


@pytest.mark.fuzz
def test_a_broken_call_is_decided_alike_or_denied(engines: tuple[Engine, Engine], repository: Path) -> None:
    opa, embedded = engines
    values = Values(572)
    kinds = {"same": 0, "shy": 0}
    for _ in range(ROUNDS):
        for whole, _ in recorded_calls(repository / "examples/airline"):
            question = broken(whole, values)
            theirs, mine = ask(opa, question), ask(embedded, question)
            kind = classify(theirs, mine)
            assert kind != "different", (question, theirs, mine)
            kinds[kind] += 1
    assert kinds["same"] > kinds["shy"]
