"""One pack and its calls on both engines, and what may differ."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.policy_folder import LoadedPolicy
from tests.differential.calls import random_call, random_data
from tests.differential.packs import PATH, PackGenerator
from tests.differential.real_opa import PolicyRefusedError, RealOpa
from tests.differential.values import Trap, Values

if TYPE_CHECKING:
    from pathlib import Path

CALLS_PER_PACK: Final = 25
_SECONDS: Final = 60.0


@dataclass
class Report:
    """What a run saw.

    Attributes:
        counts: ``same``, ``shy`` (an error, or undefined, where OPA has a value: a deny), ``different``, and packs
            that ``opa`` or the ``guard`` refused.
        examples: the first differences: module, data, input, OPA's outcome, ours.
    """

    counts: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, Any, Any, Any, Any]] = field(default_factory=list)

    @property
    def verdicts(self) -> int:
        """Verdicts that were compared."""
        return self.counts["same"] + self.counts["shy"] + self.counts["different"]


def same_value(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are one, true and 1 are not."""
    return _plain(left) == _plain(right)


def _plain(value: Any) -> str:
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def classify(theirs: tuple[str, Any], mine: tuple[str, Any]) -> str:
    """``same``, ``shy`` or ``different``.

    An error of ours is a deny, whatever OPA says. Undefined is one too where the *decision* is undefined, but only if
    OPA has a value there; an undefined decision where OPA errs is as much a deny.
    """
    if mine[0] == theirs[0] and (mine[0] != "value" or same_value(mine[1], theirs[1])):
        return "same"
    return "shy" if mine[0] in {"error", "undefined"} else "different"


def ask_embedded(engine: EmbeddedEngine, path: str, body: bytes) -> tuple[str, Any]:
    """The embedded engine's outcome, in the words of `RealOpa.ask`."""
    try:
        answer = engine.evaluate(DecisionPath(path), body, Deadline.after(_SECONDS))
    except EngineFailureError as failure:
        return "panic" if "PanicException" in failure.detail else "error", failure.detail
    return ("undefined", None) if answer.result is UNDEFINED else ("value", answer.result)


def policy_of(module: str, data: Any) -> LoadedPolicy:
    """A policy of one module."""
    return LoadedPolicy(modules={"fuzz.rego": module}, data=data, files={}, revision="sha256:fuzz")


def run(binary: Path, *, verdicts: int, seed: int, traps: frozenset[Trap] = frozenset(), guard: bool = True) -> Report:
    """Compare at least `verdicts` verdicts of random packs; deterministic for a seed."""
    report = Report()
    values = Values(seed, traps)
    generator = PackGenerator(values)
    with RealOpa(binary) as opa:
        while report.verdicts < verdicts and report.counts["guard"] + report.counts["opa"] <= 20 + verdicts // 10:
            module, data = generator.module(), random_data(values)
            bodies = [
                json.dumps({"input": random_call(values)}, ensure_ascii=False, separators=(",", ":")).encode()
                for _ in range(CALLS_PER_PACK)
            ]
            _run_pack(opa, module, data, bodies, report, guard=guard)
    return report


def _run_pack(opa: RealOpa, module: str, data: Any, bodies: list[bytes], report: Report, *, guard: bool) -> None:
    try:
        engine = EmbeddedEngine(policy_of(module, data), unsafe_without_load_checks=not guard)
    except PolicyLoadError:
        report.counts["guard"] += 1
        return
    try:
        opa.use({"fuzz.rego": module}, data)
    except PolicyRefusedError:
        report.counts["opa"] += 1
        return
    for body in bodies:
        theirs, mine = opa.ask(PATH, body), ask_embedded(engine, PATH, body)
        kind = "different" if mine[0] == "panic" else classify(theirs, mine)
        report.counts[kind] += 1
        report.counts[f"opa {theirs[0]}"] += 1
        if kind == "different" and len(report.examples) < 5:
            report.examples.append((module, data, json.loads(body), theirs, mine))
    engine.close()
