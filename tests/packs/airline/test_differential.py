"""Random and mutated calls: the pack on both engines, and the Python implementation of RULES.md, say the same."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.packs.airline.calls import WRITE_TOOLS, mutated_call, random_call, seeded
from tests.packs.airline.reference import decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.packs.airline.engines import PackEngine
    from tests.packs.airline.schemas import Schemas

pytestmark = pytest.mark.fuzz

_USUALLY = 600
_ENGINES = 2
_ASKED = os.environ.get("AIOC_FUZZ_VERDICTS")
"""How many verdicts to compare (`make fuzz`); without it a few hundred calls, the same ones each time."""


def _seeds() -> Iterator[int]:
    count = _USUALLY if _ASKED is None else max(1, int(_ASKED) // _ENGINES // 2)
    start = 0 if _ASKED is None else random.SystemRandom().randrange(2**40)
    return iter(range(start, start + count))


def _compare(call: dict[str, Any], seed: int, engines: list[PackEngine]) -> None:
    ruling = decide(call["toolName"], call["arguments"], call["runContext"]["context"])
    for engine in engines:
        assert engine.rule(call) == ruling, f"{type(engine).__name__}, seed {seed}: {json.dumps(call)}"


def test_random_calls_are_decided_as_the_text_says(
    on_opa: PackEngine, on_regorus: PackEngine, schemas: Schemas
) -> None:
    for seed in _seeds():
        call = random_call(seeded(seed))
        schemas.check(call)
        _compare(call, seed, [on_opa, on_regorus])


def test_mutated_recordings_are_decided_as_the_text_says(
    on_opa: PackEngine, on_regorus: PackEngine, schemas: Schemas, recorded: list[dict[str, Any]]
) -> None:
    bases = [
        {**call, "arguments": json.loads(call["rawArguments"])} for call in recorded if call["toolName"] in WRITE_TOOLS
    ]
    for seed in _seeds():
        rng = seeded(seed)
        call = mutated_call(rng, rng.choice(bases))
        schemas.check(call)
        _compare(call, seed, [on_opa, on_regorus])


def test_the_random_calls_reach_every_code_and_every_decision(manifest: dict[str, Any]) -> None:
    reached: set[str] = set()
    for seed in range(4000):
        call = random_call(seeded(seed))
        decision, reasons = decide(call["toolName"], call["arguments"], call["runContext"]["context"])
        reached |= {decision, *reasons}
    assert reached >= set(manifest["codes"]) - {"no_rule_against", "tool_without_effect"}
    assert reached >= {"allow", "approval_required", "deny"}
