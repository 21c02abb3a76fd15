"""Terms of `hold_with`: the rule `approval-terms`, one acceptance or refusal a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packs.lint.linter import HEAD, SOUND

if TYPE_CHECKING:
    from tests.packs.lint.linter import Linter

ROLES, QUORUM, DUTIES, SECONDS = (
    '"approverRoles": ["cfo"]', '"quorum": 2', '"separationOfDuties": true', '"ttlSeconds": 60',
)  # fmt: skip


def held(lint: Linter, terms: str, more: str = "") -> list[str]:
    hold = f'require_approval contains verdict if {{\n\tverdict := verdicts.hold_with("fine", {terms})\n}}\n'
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n# METADATA\n# title: Held\n{hold}{more}"})
    return [found.message.partition(";")[0] for found in lint.findings() if found.rule == "approval-terms"]


def terms(*parts: str) -> str:
    return "{" + ", ".join(parts) + "}"


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        (terms(ROLES, QUORUM, DUTIES, SECONDS), []),
        (terms('"approverRoles": ["a", data.x]', '"quorum": data.q', DUTIES, SECONDS), []),
        ("data.aioc.packs.mine.table", []),
        (terms(ROLES, QUORUM), ["separationOfDuties is missing", "ttlSeconds is missing"]),
        (
            terms('"aproverRoles": []', QUORUM, DUTIES, SECONDS),
            ["'aproverRoles' is no term", "approverRoles is missing"],
        ),
        (terms('"approverRoles": []', QUORUM, DUTIES, SECONDS), ["approverRoles has a value"]),
        (terms('"approverRoles": "cfo"', QUORUM, DUTIES, SECONDS), ["approverRoles has a value"]),
        (terms('"approverRoles": [" "]', QUORUM, DUTIES, SECONDS), ["approverRoles has a value"]),
        (terms('"approverRoles": [1]', QUORUM, DUTIES, SECONDS), ["approverRoles has a value"]),
        (terms(ROLES, '"quorum": 0', DUTIES, SECONDS), ["quorum has a value"]),
        (terms(ROLES, '"quorum": 1.5', DUTIES, SECONDS), ["quorum has a value"]),
        (terms(ROLES, QUORUM, '"separationOfDuties": "yes"', SECONDS), ["separationOfDuties has a value"]),
        (terms(ROLES, QUORUM, DUTIES, '"ttlSeconds": null'), ["ttlSeconds has a value"]),
        (terms("input.toolName: 1"), []),
        ('"cfo"', ["the terms of hold_with are no object"]),
    ],
)
def test_terms_that_are_written_out(lint: Linter, given: str, problems: list[str]) -> None:
    found = held(lint, given)
    assert len(found) == len(problems)
    assert all(each.startswith(problem) for each, problem in zip(found, problems, strict=True)), found


def test_terms_that_a_rule_of_the_pack_writes_out(lint: Linter) -> None:
    assert held(lint, "_terms", f"\n_terms := {terms(ROLES, QUORUM, DUTIES, SECONDS)}\n") == []
    assert held(lint, "_terms", f"\n_terms := {terms(ROLES, QUORUM, DUTIES)}\n") == ["ttlSeconds is missing"]
    assert held(lint, "_terms", "\n_terms := data.aioc.packs.mine.table\n") == []


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ('approvals.by(["cfo"])', []),
        ('data.aioc.lib.approvals.by_persons(["cfo"], 2)', []),
        ('approvals.within(approvals.requester_may_approve(approvals.by_persons(["cfo"], 2)), 900)', []),
        ("approvals.by(data.x)", []),
        (f"approvals.within({terms(ROLES, QUORUM, DUTIES, SECONDS)}, 60)", []),
        ("approvals.by([])", ["approverRoles has a value"]),
        ('approvals.by({"cfo"})', ["approverRoles has a value"]),
        ('approvals.by_persons(["cfo"], 0)', ["quorum has a value"]),
        ('approvals.within(approvals.by([1]), "60")', ["approverRoles has a value", "ttlSeconds has a value"]),
        ("approvals.requester_may_approve(5)", ["the terms of hold_with are no object"]),
    ],
)
def test_terms_that_the_librarys_helpers_make(lint: Linter, given: str, problems: list[str]) -> None:
    head = HEAD.replace(
        "import data.aioc.lib.verdicts", "import data.aioc.lib.approvals\nimport data.aioc.lib.verdicts"
    )
    hold = f'require_approval contains verdict if {{\n\tverdict := verdicts.hold_with("fine", {given})\n}}\n'
    lint.write({"mine.rego": f"{head}{SOUND}\n# METADATA\n# title: Held\n{hold}"})
    findings = lint.findings()
    found = [each.message for each in findings if each.rule == "approval-terms"]
    assert len(found) == len(problems)
    assert all(each.startswith(problem) for each, problem in zip(found, problems, strict=True)), found
    computed = [each for each in findings if each.rule == "verdict-computed"]
    assert bool(computed) == ("data.x" in given)
