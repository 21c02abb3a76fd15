"""Whatever the input is, there is a decision, and on the embedded engine the same or a deny (design 3.3, 4)."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.decision_decoder import DecisionRefusedError, decode_decision
from aioc_opa.core.reasons import Reason
from aioc_opa.packs.samples import read_samples
from tests.packs.evaluation import copy_policy, on_opa, on_regorus

if TYPE_CHECKING:
    from pathlib import Path

JUNK: list[Any] = [None, True, False, 0, -1, 1.5, "", "x", [], {}, [[]], {"a": None}, "\u0000", "é" * 40, 2**53 - 1]
COUNT = 400


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        found += places(below, (*path, key))
    return found


def mutated(rng: random.Random, question: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(question)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(places(changed))
        place: Any = changed
        for key in path[:-1]:
            place = place[key]
        if isinstance(place, dict) and rng.random() < 0.4:
            del place[path[-1]]
        else:
            place[path[-1]] = copy.deepcopy(rng.choice(JUNK))
    return changed


@pytest.fixture
def questions(repository: Path) -> list[Any]:
    rng = random.Random(20261130)  # noqa: S311 - reproducible on purpose
    samples = read_samples(repository / "rego/aioc/packs/access_table/samples")
    return [*JUNK, *(mutated(rng, rng.choice(samples).input) for _ in range(COUNT))]


@pytest.mark.parametrize("entrypoint", ["tool_policy", "handoff_policy"])
def test_every_input_has_a_decision_and_the_embedded_engine_the_same_or_a_deny(
    repository: Path, tmp_path: Path, opa_binary: Path, questions: list[Any], entrypoint: str
) -> None:
    policy = copy_policy(repository / "rego", tmp_path / "policy")
    rule = f"data.aioc.{entrypoint}.decision"
    if entrypoint == "handoff_policy":
        targets = ("airline_agent", "refund_agent", 5, None, ["airline_agent"])
        rng = random.Random(5)  # noqa: S311 - reproducible on purpose
        handoff = {"kind": "handoff", "requestId": "r", "proposalHash": "h", "fromAgentName": "triage_agent"}
        questions += [mutated(rng, {**handoff, "toAgentName": rng.choice(targets)}) for _ in range(COUNT)]
    answers = on_opa(opa_binary, policy, questions, rule)
    assert len(answers) == len(questions)
    # regorus errs, and so denies, where something that is no list is iterated (docs/embedded-engine.md).
    for answer, embedded in zip(answers, on_regorus(policy, questions, rule), strict=True):
        assert embedded in (answer, {"decision": "deny", "reason": "engine_failure", "reasons": []})
    for question, answer in zip(questions, answers, strict=True):
        assert answer["decision"] in {"allow", "deny", "approval_required"}
        echoes = question if isinstance(question, dict) else {}
        assert {key: answer.get(key) for key in ("kind", "requestId", "proposalHash") if key in answer} == {
            key: echoes[key] for key in ("kind", "requestId", "proposalHash") if key in echoes
        }


def test_every_decision_is_one_to_the_runtimes_decoder(
    repository: Path, tmp_path: Path, opa_binary: Path, questions: list[Any]
) -> None:
    policy = copy_policy(repository / "rego", tmp_path / "policy")
    whole = 0
    for question, answer in zip(questions, on_opa(opa_binary, policy, questions), strict=True):
        asked = {
            key: question.get(key) if isinstance(question, dict) else None for key in ("proposalHash", "requestId")
        }
        try:
            decode_decision(
                answer, proposal_hash=str(asked["proposalHash"]), request_id=str(asked["requestId"]), kind="tool"
            )
            whole += 1
        except DecisionRefusedError as refusal:
            # Only because the question itself had no proper echo: the rest of the decision is always sound.
            assert refusal.reason in {Reason.POLICY_MALFORMED_DECISION, Reason.POLICY_BINDING_MISMATCH}  # noqa: PT017
            assert not all(isinstance(asked[key], str) for key in asked) or question.get("kind") != "tool"
    assert whole > COUNT // 2
