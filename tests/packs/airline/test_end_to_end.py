"""The airline pack behind the guard: raw argument strings, the library, its routes and owners, on both engines.

The same 572 calls again, since here the routes judge the context, and one decision is made of all verdicts.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.call_request import run_context_of
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from aioc_opa.revision_gate import UnsafeAnyRevision
from aioc_opa.tool_lists import read_tool_list
from tests.opa_process import OpaProcess
from tests.packs.airline.engines import Ruling
from tests.packs.airline.test_samples import SAMPLES, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.engines.protocol import Engine

Call = dict[str, Any]
WORDS = {Allowed: "allow", Suspended: "approval_required", Denied: "deny"}


def guard_of(engine: Engine, repository: Path) -> ToolGuard:
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), deadline=60.0)
    for tool in read_tool_list(repository / "examples/airline/tools.json"):
        guard.register_json_schema(tool.name, tool.schema, lambda arguments: arguments)
    return guard


@pytest.fixture(scope="module")
def by_server(opa_binary: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolGuard]:
    only_policies = ["--ignore", "samples", "--ignore", "*_test.rego"]
    folder = tmp_path_factory.mktemp("whole")
    with (
        OpaProcess(opa_binary, folder, paths=[repository / "rego"], arguments=only_policies) as opa,
        OpaServerEngine(opa.url) as engine,
    ):
        yield guard_of(engine, repository)


@pytest.fixture(scope="module")
def by_embedded(repository: Path) -> ToolGuard:
    return guard_of(EmbeddedEngine(repository / "rego"), repository)


@pytest.fixture(params=["server", "embedded"])
def guard(request: pytest.FixtureRequest) -> ToolGuard:
    chosen: ToolGuard = request.getfixturevalue(f"by_{request.param}")
    return chosen


def decide(guard: ToolGuard, call: Call) -> Ruling:
    outcome = guard.authorize(
        call["toolName"],
        call["rawArguments"],
        agent_name=call["agentName"],
        run_context=run_context_of(call["runContext"]),
        turn=call["turn"],
    )
    assert outcome.decision is not None, outcome
    return Ruling(WORDS[type(outcome)], outcome.reasons)


def test_every_recorded_call_is_decided_as_expected(
    guard: ToolGuard, recorded: list[Call], expected: list[Call]
) -> None:
    for call, label in zip(recorded, expected, strict=True):
        assert decide(guard, call) == Ruling(label["decision"], tuple(label["reasons"])), call["id"]


def test_every_sample_is_decided_as_it_says(guard: ToolGuard) -> None:
    for sample in SAMPLES:
        document = read(sample)
        expected = document["expected"]
        assert decide(guard, document["call"]) == Ruling(expected["decision"], tuple(expected["reasons"])), sample.stem


def test_a_context_that_lacks_what_the_manifest_requires_denies(guard: ToolGuard, manifest: dict[str, Any]) -> None:
    for sample in SAMPLES:
        call = read(sample)["call"]
        required = manifest["tools"][call["toolName"]]["context"].get("required", [])
        for key in required:
            broken = copy.deepcopy(call)
            del broken["runContext"]["context"][key]
            ruling = decide(guard, broken)
            assert ruling.decision == "deny", (sample.stem, key)
            assert "context_missing" in ruling.reasons, (sample.stem, key)


def test_a_cabin_membership_or_status_that_nobody_knows_denies(guard: ToolGuard) -> None:
    def changed(name: str, change: dict[str, Any], *place: Any) -> Call:
        call: Call = copy.deepcopy(read(next(path for path in SAMPLES if path.stem == name))["call"])
        target = call["runContext"]["context"]
        for key in place:
            target = target[key]
        target.update(change)
        return call

    for call in (
        changed("allowed_booking", {"membership": "platinum"}, "user"),
        changed("allowed_booking", {"status": "boarding"}, "flightStatus", 0),
        changed("allowed_flight_change", {"cabin": "first"}, "reservation"),
        changed("allowed_flight_change", {"flight_type": "multi_city"}, "reservation"),
    ):
        assert "context_missing" in decide(guard, call).reasons


@pytest.mark.parametrize("name", ["𠮷", "Zoë 😀", "👩‍👩‍👧"])
def test_a_passenger_with_an_astral_name_may_fly(guard: ToolGuard, name: str) -> None:
    call = copy.deepcopy(read(next(path for path in SAMPLES if path.stem == "allowed_booking"))["call"])
    arguments = json.loads(call["rawArguments"])
    arguments["passengers"][0]["first_name"] = name
    call["rawArguments"] = json.dumps(arguments)
    assert decide(guard, call) == Ruling("allow", ())
    arguments["passengers"][0]["dob"] = name
    call["rawArguments"] = json.dumps(arguments)
    assert decide(guard, call) == Ruling("deny", ("passenger_details_missing",))
