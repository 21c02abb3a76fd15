"""Random packs and calls on both engines: equal, or a deny where OPA has a value. Seeds make every run the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.differential.comparison import Report, classify, run
from tests.differential.values import Trap

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20_260
VERDICTS = int(os.environ.get("AIOC_FUZZ_VERDICTS", "3000"))

# Fractions show in values that both engines accept: the lint finds them in the policy, not the load checks.
SEEN_AT_LOAD = [trap for trap in Trap if trap is not Trap.FRACTIONS]


def explain(report: Report) -> str:
    return "\n\n".join(
        f"{module}\n{data}\n{call}\nopa: {theirs}\nembedded: {mine}"
        for module, data, call, theirs, mine in report.examples
    )


@pytest.mark.fuzz
def test_random_packs_get_the_same_verdict_or_a_deny(opa_binary: Path) -> None:
    report = run(opa_binary, verdicts=VERDICTS, seed=SEED)
    assert report.counts["different"] == 0, explain(report)
    assert report.verdicts >= VERDICTS
    assert report.counts["guard"] == 0, "the generator writes only what the load checks accept"
    assert report.counts["opa value"] > report.verdicts // 2, "most questions must have an answer to compare"


@pytest.mark.parametrize("trap", list(Trap))
def test_the_fuzz_finds_each_difference_when_its_guard_is_off(opa_binary: Path, trap: Trap) -> None:
    report = run(opa_binary, verdicts=500, seed=2, traps=frozenset({trap}), guard=False)
    assert report.counts["different"] > 0


@pytest.mark.parametrize("trap", SEEN_AT_LOAD)
def test_no_difference_is_left_when_its_guard_is_on(opa_binary: Path, trap: Trap) -> None:
    report = run(opa_binary, verdicts=100, seed=2, traps=frozenset({trap}), guard=True)
    assert report.counts["different"] == 0, explain(report)
    assert report.counts["guard"] > 0


def test_a_partial_head_turns_a_deny_into_an_allow_without_its_guard(opa_binary: Path) -> None:
    report = run(opa_binary, verdicts=2000, seed=4, traps=frozenset({Trap.PARTIAL_HEAD}), guard=False)
    looser = [
        (theirs, mine)
        for _, _, _, theirs, mine in report.examples
        if mine[0] == "value" and len(mine[1]["deny"]) < len(theirs[1]["deny"])
    ]
    assert looser


@pytest.mark.parametrize(
    ("theirs", "mine", "kind"),
    [
        (("value", {"a": 1.0}), ("value", {"a": 1}), "same"),
        (("value", True), ("value", 1), "different"),
        (("value", 1), ("value", 2), "different"),
        (("error", "x"), ("value", 1), "different"),
        (("undefined", None), ("value", 1), "different"),
        (("error", "x"), ("error", "y"), "same"),
        (("value", 1), ("error", "y"), "shy"),
        (("value", 1), ("undefined", None), "shy"),
    ],
)
def test_what_counts_as_a_difference(theirs: tuple[str, object], mine: tuple[str, object], kind: str) -> None:
    assert classify(theirs, mine) == kind
