"""A sample that the policy decides otherwise is a finding, `sample-differs`; so is one that is held in vain."""

from __future__ import annotations

from subprocess import CompletedProcess
from typing import TYPE_CHECKING

from aioc_opa.packs.lint.sample_decisions import sample_differs
from tests.packs.lint.linter import HEAD, SAMPLE, SOUND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packs.lint.linter import Linter

PLACE = "aioc/packs/mine/samples/x.json:1: sample-differs: "


def said(lint: Linter) -> list[str]:
    return [str(finding).partition(" — ")[0] for finding in lint.findings()]


def test_a_sample_that_is_decided_otherwise(lint: Linter) -> None:
    assert said(lint) == []
    lint.write({"samples/x.json": {**SAMPLE, "expected": {"decision": "deny", "reasons": ["fine"]}}})
    assert said(lint) == [f"{PLACE}expects deny (fine), gets allow"]
    lint.write({"samples/x.json": SAMPLE, "mine.rego": (HEAD + SOUND).replace('== "t"', '== "u"')})
    assert said(lint) == [f"{PLACE}expects allow, gets deny"]


def test_a_held_sample_that_nothing_allows_once_it_is_approved(lint: Linter) -> None:
    hold = """
# METADATA
# title: Held
require_approval contains verdict if {
	input.toolName == "t"
	verdict := verdicts.hold_with("fine", {"approverRoles": ["a"], "quorum": 3, "separationOfDuties": true, "ttlSeconds": 9})
}
"""
    held = {**SAMPLE, "expected": {"decision": "approval_required", "reasons": ["fine"]}}
    lint.write({"samples/x.json": held, "mine.rego": HEAD + SOUND + hold})
    assert said(lint) == []
    lint.write({"mine.rego": (HEAD + SOUND).replace('== "t"', '== "u"') + hold})
    assert [(finding.rule, finding.severity) for finding in lint.findings()] == [("hold-without-allow", "warning")]


def test_samples_wait_until_nothing_else_is_wrong(lint: Linter) -> None:
    lint.write({"mine.rego": (HEAD + SOUND).replace('== "t"', '== "u"'), "limits.json": {}})
    assert [finding.rule for finding in lint.findings()] == ["data-file-name"]


def test_a_file_that_is_no_sample_and_an_opa_that_does_not_answer(lint: Linter) -> None:
    def run(answer: str, status: int = 0) -> list[str]:
        found = sample_differs(lint.folder, ["mine"], lambda *_: CompletedProcess([], status, answer, ""))
        return [finding.message for finding in found]

    folder: Path = lint.folder
    assert run('{"result": [{"expressions": [{"value": []}]}]}') == ["expects allow, gets undefined"]
    assert run("{}") == ["{}"]
    assert run("", 2) == ["it fails and says nothing"]
    (folder / "aioc/packs/mine/samples/x.json").write_text("{}")
    assert run("not asked") == []
