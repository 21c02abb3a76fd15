"""The pack's samples: one for each of the 33 codes, each decided as it says on both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.packs.airline.engines import PACK, Ruling

if TYPE_CHECKING:
    from tests.packs.airline.engines import PackEngine
    from tests.packs.airline.schemas import Schemas

SAMPLES = sorted((Path(__file__).resolve().parents[3] / PACK / "samples").glob("*.json"))
ALLOW_CODES = {"no_rule_against", "tool_without_effect"}
"""Codes of allow verdicts, which are nobody's reason (design 3.3)."""


def read(sample: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sample.read_text())
    return document


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_sample_is_decided_as_it_says(sample: Path, pack: PackEngine, schemas: Schemas) -> None:
    document = read(sample)
    schemas.check(document["call"])
    expected = document["expected"]
    assert pack.rule(document["call"]) == Ruling(expected["decision"], tuple(expected["reasons"]))


def test_each_of_the_33_codes_has_the_sample_of_its_name(manifest: dict[str, Any]) -> None:
    codes = set(manifest["codes"]) - ALLOW_CODES
    assert len(codes) == 33
    named = {sample.stem for sample in SAMPLES if not sample.stem.startswith("allowed_")}
    assert named == codes
    for sample in SAMPLES:
        if sample.stem in codes:
            assert sample.stem in read(sample)["expected"]["reasons"]
        else:
            assert read(sample)["expected"] == {"decision": "allow", "reasons": []}


def test_the_33_codes_are_those_of_the_text(repository: Path, manifest: dict[str, Any]) -> None:
    text = (repository / "examples/airline/RULES.md").read_text()
    for code in set(manifest["codes"]) - ALLOW_CODES:
        assert f"`{code}`" in text
