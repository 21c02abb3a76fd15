"""One hostile module a lint rule: rules of one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.lint.finding import Finding, exit_code
from tests.packs.folders import write
from tests.packs.lint.linter import HEAD, SOUND, TEST

if TYPE_CHECKING:
    from tests.packs.lint.linter import Linter


def test_nothing_against_the_sound_pack(lint: Linter) -> None:
    assert lint.findings() == []


def test_a_finding_reads_as_place_rule_message_cure() -> None:
    finding = Finding("a/b.rego", 3, "some-rule", "it is wrong", "right it")
    assert str(finding) == "a/b.rego:3: some-rule: it is wrong — right it"
    warning = Finding("a/b.rego", 3, "some-rule", "it is odd", "look", "warning")
    assert str(warning) == "a/b.rego:3: some-rule: warning: it is odd — look"
    assert (exit_code([]), exit_code([warning]), exit_code([warning, finding])) == (0, 0, 1)


def test_place_is_that_of_the_rule(lint: Linter) -> None:
    lint.write({"mine.rego": HEAD + SOUND.replace("# METADATA\n# title: Fine\n", "")})
    (finding,) = lint.findings()
    assert (finding.file, finding.line, finding.rule) == ("aioc/packs/mine/mine.rego", 10, "metadata-missing")


def test_metadata_missing_on_a_package(lint: Linter) -> None:
    lint.write({"mine.rego": HEAD.replace("# METADATA\n# title: Mine\n", "") + SOUND})
    assert lint.rules() == ["metadata-missing"]


def test_metadata_missing_in_the_library(lint: Linter) -> None:
    module = "# METADATA\n# title: X\npackage aioc.lib.x\n\nimport future.keywords.not\n\nopen := 1\n\n_own := 2\n"
    test = "package aioc.lib.x_test\n\nimport future.keywords.not\n"
    write(lint.folder / "aioc/lib/x", {"x.rego": module, "x_test.rego": test})
    messages = [f.message for f in lint.findings() if f.rule != "library-changed"]
    assert messages == ["open has no METADATA"]


def test_package_not_folder(lint: Linter) -> None:
    lint.write({"mine_test.rego": TEST.replace("mine_test", "other_test")})
    assert lint.rules() == ["package-not-folder"]
    lint.write(
        {
            "mine_test.rego": TEST,
            "mine.rego": (HEAD + SOUND).replace("package aioc.packs.mine", "package aioc.packs.other"),
        }
    )
    assert {"package-not-folder", "policy-refused"} <= set(lint.rules())


def test_test_missing(lint: Linter) -> None:
    (lint.folder / "aioc/packs/mine/mine_test.rego").unlink()
    assert lint.rules() == ["test-missing"]


def test_not_import_missing_in_rules_and_tests(lint: Linter) -> None:
    lint.write({"mine.rego": (HEAD + SOUND).replace("import future.keywords.not\n", "")})
    lint.write({"mine_test.rego": TEST.replace("import future.keywords.not\n", "")})
    assert lint.rules() == ["not-import-missing"] * 2


@pytest.mark.parametrize(
    "call",
    [
        "time.now_ns() > 5",
        'http.send({"method": "get", "url": "x"})',
        'rand.intn("x", 5) == 1',
        "opa.runtime()",
        'print("x")',
    ],
)
def test_builtin_not_permitted(lint: Linter, call: str) -> None:
    assert lint.body(call) == ["builtin-not-permitted"]


def test_builtin_that_only_a_server_has_warns(lint: Linter) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n_helper if io.jwt.decode(input.agentName)\n"})
    (finding,) = lint.findings()
    assert (finding.rule, finding.severity) == ("builtin-not-embedded", "warning")


def test_builtins_and_functions_that_are_permitted(lint: Linter) -> None:
    lint.write(
        {
            "mine.rego": f'{HEAD}{SOUND}\n_own(x) := x\n\n_helper if {{\n\tcount(input.turn) > 0\n\t_own(1) == 1\n\tverdicts.deny("fine")\n\tdata.aioc.lib.verdicts.allow("fine")\n}}\n'
        }
    )
    assert lint.rules() == []


@pytest.mark.parametrize(
    "rule",
    [
        '_over contains {"sku": item.sku} if some item in input.runContext.context.items',
        "_over contains item.sku if some item in input.runContext.context.items",
        "_over contains lower(item) if some item in input.runContext.context.items",
        "_over contains [item | some item in input.turn] if true",
        "_over[item] := item.sku if some item in input.runContext.context.items",
        "_over[item.sku] := 1 if some item in input.runContext.context.items",
        "_over[item].b contains item.sku if some item in input.runContext.context.items",
    ],
)
def test_head_not_bound(lint: Linter, rule: str) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n{rule}\n"})
    assert "head-not-bound" in lint.rules()


@pytest.mark.parametrize(
    "rule",
    [
        '_over contains "constant" if input.turn > 0',
        '_over contains {"a": [1, null]} if input.turn > 0',
        "_over contains item if some item in input.runContext.context.items",
        "_over[sku] := item if {\n\tsome item in input.runContext.context.items\n\tsku := item.sku\n}",
        "_over.a.b := input.turn if input.turn > 0",
    ],
)
def test_heads_that_are_bound(lint: Linter, rule: str) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n{rule}\n"})
    assert lint.rules() == []


@pytest.mark.parametrize(
    "statement",
    [
        "input.turn > 0.5",
        "input.turn * 0.1 == 1",
        "input.turn / 3 == 1",
        "abs(input.turn - 0.005) <= 1",
        "ceil(input.turn * 1.1) == 1",
        "0.1 + 0.2 == input.turn",
    ],
)
def test_fraction_compared(lint: Linter, statement: str) -> None:
    assert "fraction-compared" in lint.body(statement)


@pytest.mark.parametrize("statement", ["input.turn > 1.0", "round(input.turn * 0.1) == 1", "input.turn * 2 > 3"])
def test_whole_numbers_may_be_compared(lint: Linter, statement: str) -> None:
    assert lint.body(statement) == []


@pytest.mark.parametrize("pattern", [r"^\d+$", r"\w", r"\s", r"a\b", r"[a&&b]", r"[a--b]", r"\Q.\E"])
def test_regex_class(lint: Linter, pattern: str) -> None:
    assert lint.body(f"regex.match(`{pattern}`, input.agentName)") == ["regex-class"]


@pytest.mark.parametrize("pattern", [r"^[0-9]{4}$", r"\.", r"\\d", r"[a-z-]"])
def test_regex_that_every_engine_reads_alike(lint: Linter, pattern: str) -> None:
    assert lint.body(f"regex.match(`{pattern}`, input.agentName)") == []


@pytest.mark.parametrize(
    "statement",
    [
        "some p; data.aioc.packs[p].deny",
        "data.aioc.packs[input.toolName].loaded",
        "data.aioc[input.toolName]",
        "data[input.toolName]",
        "count(data.aioc.packs) > 0",
        "walk(data.aioc, [_, _])",
        "some x in data",
    ],
)
def test_variable_over_packs(lint: Linter, statement: str) -> None:
    assert "variable-over-packs" in lint.body(statement)


def test_variable_over_packs_through_an_import(lint: Linter) -> None:
    module = HEAD.replace(
        "import data.aioc.lib.verdicts", "import data.aioc.lib.verdicts\nimport data.aioc.packs as all"
    )
    lint.write({"mine.rego": f"{module}{SOUND}\n_helper if all[input.toolName].loaded\n"})
    assert "variable-over-packs" in lint.rules()


def test_expiry_alone_warns(lint: Linter) -> None:
    lint.write(
        {"mine.rego": f'{HEAD}{SOUND}\n_decision := {{"decision": "deny", "expiresAt": "2030-01-01T00:00:00Z"}}\n'}
    )
    (finding,) = lint.findings()
    assert (finding.rule, finding.severity) == ("expiry-alone", "warning")
    lint.write(
        {"mine.rego": f'{HEAD}{SOUND}\n_decision := {{"approval": {{}}, "expiresAt": "2030-01-01T00:00:00Z"}}\n'}
    )
    assert lint.rules() == []


def test_what_opa_asks_about_its_own_log_may_reach_all_packs_and_makes_no_decision(lint: Linter) -> None:
    body = 'known(code) if {\n\tsome pack\n\tcode in data.aioc.packs[pack].manifest.codes\n}\n\nkinds := {"expiresAt": "time"}\n'
    head = "# METADATA\n# title: Log\npackage system.log\n\nimport future.keywords.not\n\n"
    test = "package system.log_test\n\nimport data.system.log\nimport future.keywords.not\n\ntest_known if not log.known(1)\n"
    write(lint.folder / "system/log", {"log.rego": head + body, "log_test.rego": test})
    assert lint.rules() == []
