"""Every pack's samples, through the whole library, on a real OPA and on regorus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.samples import policy_input, read_samples
from tests.packs.evaluation import copy_policy, on_opa, on_regorus
from tests.packs.folders import write

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def test_every_sample_is_decided_as_it_says_on_both_engines(repository: Path, tmp_path: Path, opa_binary: Path) -> None:
    policy = copy_policy(repository / "rego", tmp_path / "policy")
    packs = sorted(path.parent for path in (repository / "rego/aioc/packs").glob("*/data.json"))
    samples = [sample for pack in packs for sample in read_samples(pack / "samples")]
    assert len(samples) >= len(packs)
    questions = [sample.input for sample in samples]
    expected = [(sample.name, sample.decision, sample.reasons) for sample in samples]
    for answers in (on_opa(opa_binary, policy, questions), on_regorus(policy, questions)):
        found = [
            (sample.name, answer["decision"], tuple(answer["reasons"]))
            for sample, answer in zip(samples, answers, strict=True)
        ]
        assert found == expected


CALL = {"agentName": "a", "toolName": "t", "rawArguments": "{}"}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"call": CALL, "expected": {"decision": "allow", "reasons": []}}, "a sample has title"),
        ({"title": "t", "call": CALL}, "a sample has title"),
        ({"title": "t", "call": CALL, "expected": {"decision": "permit", "reasons": []}}, "expected.decision"),
        ({"title": "t", "call": CALL, "expected": {"decision": "deny", "reasons": "x"}}, "list of codes"),
        ({"title": "t", "call": CALL, "expected": {"decision": "deny", "reasons": ["b", "a"]}}, "sorted list"),
        ({"title": "t", "call": {}, "expected": {"decision": "deny", "reasons": []}}, "a call has agentName"),
        (
            {"title": "t", "call": {**CALL, "rawArguments": "[]"}, "expected": {"decision": "deny", "reasons": []}},
            "rawArguments",
        ),
        ("{", "not a strict JSON object"),
    ],
)
def test_a_file_that_is_no_sample_is_refused(tmp_path: Path, document: Any, problem: str) -> None:
    write(tmp_path, {"x.json": document})
    with pytest.raises(PolicyLoadError, match=problem):
        read_samples(tmp_path)


def test_samples_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(PolicyLoadError, match="cannot be read"):
        read_samples(tmp_path)


def test_a_call_with_decoded_arguments_says_so() -> None:
    question = policy_input({"agentName": "a", "toolName": "t", "arguments": {"b": 1}})
    assert (question["decodeAssurance"], question["rawArguments"]) == ("decoded", '{"b":1}')
