"""What a verdict is made of: the rule `verdict-computed`, one acceptance or refusal a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import manifest
from tests.packs.lint.linter import HEAD, SOUND

if TYPE_CHECKING:
    from tests.packs.lint.linter import Linter


def table(*required: str) -> dict[str, Any]:
    """Needs of a pack with the tables `texts` and `terms`, of which some are required."""
    tables = {
        "texts": {"type": "object", "required": ["no"], "properties": {"no": {"type": "string"}}},
        "terms": {"type": "object"},
        "odd": {"type": "object"},
    }
    below: dict[str, Any] = {"type": "object", "properties": tables, "required": list(required)}
    for segment in ("mine", "packs", "aioc"):
        below = {"type": "object", "properties": {segment: below}}
    return below


def found(lint: Linter, rules: str) -> list[tuple[str, int]]:
    data = {"manifest": manifest("t", codes=("fine", "no"), data=table("texts", "terms"))}
    head = HEAD.replace("import future", "import data.aioc.packs.mine.texts\nimport future")
    lint.write({"data.json": data, "mine.rego": f'{head}{SOUND}\n_codes := {{"no"}}\n\n{rules}'})
    write_routes(lint.folder)
    besides = {"metadata-missing", "opa-check", "sample-differs"}  # OPA's: an unused import, denies of the one sample
    return [(finding.rule, finding.line) for finding in lint.findings() if finding.rule not in besides]


def deny(*body: str) -> str:
    return "deny contains verdict if {\n" + "".join(f"\t{line}\n" for line in body) + "}\n"


@pytest.mark.parametrize(
    "rules",
    [
        deny('verdict := verdicts.deny_because("no", "No.")'),
        deny('text := "No."', 'verdict := verdicts.deny_because("no", text)'),
        deny('text = "No."', 'verdict = verdicts.deny_because("no", text)'),
        deny('verdict := verdicts.deny_because("no", data.aioc.packs.mine.texts.no)'),
        deny('verdict := verdicts.deny_because("no", texts.no)'),
        deny('verdict := verdicts.deny_because("no", texts[input.toolName])'),
        deny("some code, text in texts", "verdict := verdicts.deny_because(code, text)"),
        deny("some code in _codes", "verdict := verdicts.deny(code)"),
        deny("some code in {x | some x in _codes}", "verdict := verdicts.deny(_code)") + '\n_code := "no"\n',
        deny('[code, text] := ["no", "No."]', "verdict := verdicts.deny_because(code, text)"),
        deny('[code, text] = ["no", "No."]', "verdict := verdicts.deny_because(code, text)"),
        deny('verdict := _no("No.")') + '\n_no(text) := verdicts.deny_because("no", text)\n',
        deny('verdict := object.union(verdicts.deny("no"), {"metadata": {"kind": ["a", true, null]}})'),
        deny("some verdict in _verdicts") + '\n_verdicts contains verdict if verdict := verdicts.deny("no")\n',
        deny('verdict := verdicts.hold_with("no", _terms)') + "\n_terms := data.aioc.packs.mine.terms[input.toolName].x\n",
        deny("verdict := verdicts.deny(_code)") + '\n_code := "no" if input.turn == 0\n\n_code := "fine" if input.turn > 0\n',
        deny('verdict := _deny("no")') + "\n_deny(code) := _no(code, 1)\n\n_no(code, n) := verdicts.deny(code) if n > 0\n",
    ],
)  # fmt: skip
def test_constants_and_required_data_are_accepted(lint: Linter, rules: str) -> None:
    assert found(lint, rules) == []


INPUT = "input.parsedArguments.path"


@pytest.mark.parametrize(
    "rules",
    [
        deny(f'verdict := verdicts.deny_because("no", concat("", ["no ", {INPUT}]))'),
        deny(f'verdict := verdicts.deny_because("no", sprintf("no %s", [{INPUT}]))'),
        deny(f"text := {INPUT}", 'verdict := verdicts.deny_because("no", text)'),
        deny(f"text = {INPUT}", 'verdict := verdicts.deny_because("no", text)'),
        deny(f"{INPUT} = text", 'verdict := verdicts.deny_because("no", text)'),
        deny(f'["no", text] := ["no", {INPUT}]', 'verdict := verdicts.deny_because("no", text)'),
        deny("some text in input.parsedArguments.paths", 'verdict := verdicts.deny_because("no", text)'),
        deny("input.parsedArguments[text]", 'verdict := verdicts.deny_because("no", text)'),
        deny(f'verdict := verdicts.deny_because("no", texts[{INPUT}])'),
        deny('verdict := verdicts.deny_because("no", data.aioc.packs.mine.odd.x)'),
        deny('verdict := verdicts.deny_because("no", texts.other)'),
        deny('verdict := verdicts.deny_because("no", [x | some x in texts][0])'),
        deny('verdict := verdicts.deny_because("no", input.toolName.x)'),
        deny('verdict := verdicts.deny_because("no", _text)') + f"\n_text := {INPUT}\n",
        deny("text := _text", 'verdict := verdicts.deny_because("no", text)') + f"\n_text := {INPUT}\n",
        deny("text = _text", 'verdict := verdicts.deny_because("no", text)') + f"\n_text := {INPUT}\n",
        deny('verdict := verdicts.deny_because("no", data.aioc.packs.mine._text)') + f"\n_text := {INPUT}\n",
        deny(f"verdict := _no({INPUT})") + '\n_no(text) := verdicts.deny_because("no", text)\n',
        deny(f'verdict := object.union(verdicts.deny("no"), {{"metadata": {{"path": {INPUT}}}}})'),
        deny("some verdict in input.parsedArguments.verdicts"),
        deny("verdict := _verdict(1)") + "\n_verdict(_) := input.parsedArguments.verdict\n",
    ],
)  # fmt: skip
def test_what_a_call_says_and_what_can_be_undefined_is_refused(lint: Linter, rules: str) -> None:
    assert "verdict-computed" in [rule for rule, _ in found(lint, rules)]


def test_the_finding_names_the_line_of_the_constructor_once(lint: Linter) -> None:
    rules = deny(f'verdict := verdicts.deny_because("no", {INPUT})')
    problems = found(lint, rules)
    source = (lint.folder / "aioc/packs/mine/mine.rego").read_text()
    assert problems == [("verdict-computed", source[: source.index("deny_because")].count("\n") + 1)]


def test_the_tools_table_of_the_table_pack_is_sound(lint: Linter) -> None:
    """`_entry` is a row of a required table that `input.toolName` chooses."""
    rules = deny('verdict := _hold("no")')
    helpers = '\n_entry := data.aioc.packs.mine.terms[input.toolName]\n\n_hold(code) := verdicts.hold_with(code, _entry.approval) if "approval" in object.keys(_entry)\n'
    assert found(lint, rules + helpers) == []
