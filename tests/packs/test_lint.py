"""One hostile module a lint rule (design 5)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint import linted
from aioc_opa.packs.lint.finding import Finding, exit_code
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import manifest, write

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

HEAD = """\
# METADATA
# title: Mine
package aioc.packs.mine

import data.aioc.lib.verdicts
import future.keywords.not

loaded := true

"""
SOUND = """\
# METADATA
# title: Fine
allow contains verdict if {
	input.toolName == "t"
	verdict := verdicts.allow("fine")
}
"""
TEST = "package aioc.packs.mine_test\n\nimport data.aioc.packs.mine\nimport future.keywords.not\n\ntest_loaded if mine.loaded\n"
SAMPLE = {
    "title": "x",
    "call": {"agentName": "a", "toolName": "t", "rawArguments": "{}"},
    "expected": {"decision": "allow", "reasons": []},
}
CONTEXT = {
    "type": "object",
    "properties": {
        "user": {"type": "object", "properties": {"tier": {"type": "string"}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "prices": {"type": "object", "additionalProperties": {"type": "number"}},
        "open": {"type": "object"},
    },
}
TABLE = {
    "type": "object",
    "properties": {
        "limits": {"type": "object"},
        "aioc": {
            "type": "object",
            "properties": {
                "packs": {
                    "type": "object",
                    "properties": {"mine": {"type": "object", "properties": {"table": {"type": "object"}}}},
                }
            },
        },
    },
}


PARSED: dict[Any, subprocess.CompletedProcess[str]] = {}


class Linter:
    """The library and one pack, `mine`, that the lint has nothing against."""

    def __init__(self, repository: Path, folder: Path, opa: Path) -> None:
        self.folder, self.opa = folder, opa
        # As little of the library as the pack needs: every module is parsed anew each time.
        for part in ("aioc/lib/verdicts", "aioc/lib/routing"):
            shutil.copytree(repository / "rego" / part, folder / part)
        self.data = {"manifest": manifest("t", context=CONTEXT, codes=("fine",), data=TABLE), "table": {}}
        pack = {
            "mine.rego": HEAD + SOUND,
            "mine_test.rego": TEST,
            "data.json": self.data,
            "samples/x.json": SAMPLE,
            "README.md": "# mine\n",
        }
        write(folder / "aioc/packs/mine", pack)
        write(
            folder,
            {
                "aioc/owners/data.json": {"t": "mine"},
                "aioc/routes/routes_test.rego": "package aioc.routes_test\n\nimport future.keywords.not\n",
            },
        )
        write_routes(folder)

    def write(self, files: dict[str, Any]) -> None:
        write(self.folder / "aioc/packs/mine", files)

    def findings(self) -> list[Finding]:
        return lint_policy(self.folder, opa_binary=self.opa)

    def rules(self) -> list[str]:
        return [finding.rule for finding in self.findings()]

    def body(self, *statements: str) -> list[str]:
        """The findings when the pack's helper is made of `statements`."""
        lines = "".join(f"\t{statement}\n" for statement in statements)
        self.write({"mine.rego": f"{HEAD}{SOUND}\n_helper if {{\n{lines}}}\n"})
        return self.rules()


@pytest.fixture(autouse=True)
def parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test lints nearly the same files: what `opa parse` says of one is kept."""
    run = linted.run_opa

    def kept(opa_binary: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        if arguments[0] != "parse" or not opa_binary.is_file():
            return run(opa_binary, *arguments, cwd=cwd)
        key = (arguments, (cwd / arguments[-1]).read_text())
        if key not in PARSED:
            PARSED[key] = run(opa_binary, *arguments, cwd=cwd)
        return PARSED[key]

    monkeypatch.setattr(linted, "run_opa", kept)


@pytest.fixture
def lint(repository: Path, tmp_path: Path, opa_binary: Path) -> Linter:
    return Linter(repository, tmp_path / "policy", opa_binary)


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
    assert [f.message for f in lint.findings()] == ["open has no METADATA"]


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


@pytest.mark.parametrize(
    "statements",
    [
        ("input.runContext.context.frozen",),
        ("input.runContext.context.user.name",),
        ("input.runContext.context.user.tier.deeper",),
        ("some item in input.runContext.context.items", "item.price > 5"),
        ("input.runContext.context.items[0].price > 5",),
        ("user := input.runContext.context.user", "user.name"),
        ("some key, price in input.runContext.context.prices", "price.amount"),
        ("input.runContext.context.open[input.toolName].below",),
        ("context := input.runContext.context", "user := context.user", "user.name"),
    ],
)
def test_context_undeclared(lint: Linter, statements: tuple[str, ...]) -> None:
    assert set(lint.body(*statements)) == {"context-undeclared"}


def test_context_undeclared_through_a_rule_of_the_package(lint: Linter) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n_user := input.runContext.context.user\n\n_helper if _user.name\n"})
    assert lint.rules() == ["context-undeclared"]


@pytest.mark.parametrize(
    "statements",
    [
        ("input.runContext.context",),
        ("input.runContext.context.user.tier",),
        ("some item in input.runContext.context.items", "item.sku"),
        ("input.runContext.context.items[0].sku",),
        ("some key, price in input.runContext.context.prices", "price > 5"),
        ("input.runContext.context.prices[input.toolName] > 5",),
        ("some entry in input.runContext.context.open", "entry"),
        ("some key in input.turn", "input.runContext.context[key].tier"),
    ],
)
def test_context_that_is_declared(lint: Linter, statements: tuple[str, ...]) -> None:
    assert lint.body(*statements) == []


@pytest.mark.parametrize(
    "statement",
    [
        "data.other.table",
        "data.aioc.owners[input.toolName]",
        "data.aioc.packs.other.deny",
        "data.aioc.packs.mine.unknown",
    ],
)
def test_data_undeclared(lint: Linter, statement: str) -> None:
    assert lint.body(statement) == ["data-undeclared"]


def test_data_that_is_declared_or_the_packs_own(lint: Linter) -> None:
    assert (
        lint.body(
            "data.limits.refund > 1",
            "data.aioc.packs.mine.table[input.toolName]",
            "data.aioc.packs.mine.loaded",
            "_own",
        )
        == []
    )


def test_codes(lint: Linter) -> None:
    lint.write({"mine.rego": (HEAD + SOUND).replace('"fine"', '"other"')})
    assert sorted(lint.rules()) == ["code-undeclared", "code-unused"]
    lint.write({"mine.rego": (HEAD + SOUND).replace('"fine"', '"policy_timeout"')})
    assert sorted(lint.rules()) == ["code-reserved", "code-unused"]


def test_a_code_that_reaches_a_constructor_through_a_helper_is_used(lint: Linter) -> None:
    helper = "\n_fine(code) := verdicts.allow(code)\n"
    lint.write({"mine.rego": HEAD + SOUND.replace('verdicts.allow("fine")', '_fine("fine")') + helper})
    assert lint.rules() == []


def test_verdict_by_hand(lint: Linter) -> None:
    lint.write(
        {
            "mine.rego": (HEAD + SOUND)
            .replace('verdicts.allow("fine")', '{"code": "fine"}')
            .replace("import data.aioc.lib.verdicts\n", "")
        }
    )
    assert lint.rules() == ["verdict-by-hand"]


def test_verdict_rule_no_set(lint: Linter) -> None:
    lint.write(
        {
            "mine.rego": f'{HEAD}{SOUND}\n# METADATA\n# title: X\ndeny := {{verdict | verdict := verdicts.deny("fine")}}\n'
        }
    )
    assert lint.rules() == ["verdict-rule-no-set"]


def test_marker_missing(lint: Linter) -> None:
    lint.write(
        {
            "mine.rego": (HEAD + SOUND).replace("loaded := true\n", ""),
            "mine_test.rego": "package aioc.packs.mine_test\n\nimport future.keywords.not\n",
        }
    )
    assert lint.rules() == ["marker-missing"]


def test_marker_missing_in_a_second_file(lint: Linter) -> None:
    test = "package aioc.packs.mine_test\n\nimport future.keywords.not\n"
    lint.write({"more.rego": "package aioc.packs.mine\n\nimport future.keywords.not\n", "more_test.rego": test})
    write_routes(lint.folder)
    (finding,) = lint.findings()
    assert (finding.rule, finding.file) == ("marker-missing", "aioc/packs/mine/more.rego")
    lint.write({"more.rego": "package aioc.packs.mine\n\nimport future.keywords.not\n\nmore_loaded := true\n"})
    assert lint.rules() == []


def test_readme_and_samples_missing(lint: Linter) -> None:
    (lint.folder / "aioc/packs/mine/README.md").unlink()
    shutil.rmtree(lint.folder / "aioc/packs/mine/samples")
    assert lint.rules() == ["readme-missing", "samples-missing"]


def test_sample_invalid(lint: Linter) -> None:
    lint.write({"samples/x.json": {}})
    assert lint.rules() == ["sample-invalid"]
    lint.write({"samples/x.json": {**SAMPLE, "expected": {"decision": "deny", "reasons": ["unheard_of"]}}})
    assert lint.rules() == ["sample-invalid"]
    lint.write({"samples/x.json": {**SAMPLE, "expected": {"decision": "deny", "reasons": ["context_missing"]}}})
    assert lint.rules() == []


def test_routes_stale(lint: Linter) -> None:
    write(lint.folder, {"aioc/owners/data.json": {}})
    assert lint.rules() == ["routes-stale"]


def test_policy_refused(lint: Linter) -> None:
    write(lint.folder, {"aioc/owners/data.json": {"t": "nobody"}})
    (finding,) = lint.findings()
    assert (finding.rule, "is not a pack of this folder" in finding.message) == ("policy-refused", True)


def test_data_file_name(lint: Linter) -> None:
    lint.write({"limits.json": {"a": 1}})
    assert lint.rules() == ["data-file-name"]


def test_parse_error(lint: Linter) -> None:
    lint.write({"mine.rego": HEAD + "allow contains\n"})
    assert {"parse-error", "inspect-error"} <= set(lint.rules())


def test_an_authors_own_folder(tmp_path: Path, opa_binary: Path) -> None:
    write(tmp_path, {"authz/authz.rego": "package authz\n\nallow if not input.x\n", "authz/data.json": {}})
    rules = [finding.rule for finding in lint_policy(tmp_path, opa_binary=opa_binary)]
    assert sorted(rules) == ["metadata-missing", "not-import-missing", "test-missing"]


def test_no_such_folder_and_no_such_opa(tmp_path: Path, opa_binary: Path) -> None:
    with pytest.raises(PolicyLoadError, match="no such folder"):
        lint_policy(tmp_path / "nowhere", opa_binary=opa_binary)
    write(tmp_path, {"a/a.rego": "package a\n"})
    with pytest.raises(PolicyLoadError, match="cannot be run"):
        lint_policy(tmp_path, opa_binary=tmp_path / "no-opa")
