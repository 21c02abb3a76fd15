"""One hostile module a lint rule: packs and folders."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import write
from tests.packs.lint.linter import HEAD, SAMPLE, SOUND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packs.lint.linter import Linter


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


def test_rules_outside_our_namespace(lint: Linter) -> None:
    write(lint.folder, {"authz/authz.rego": "package authz\n\nallow if not input.x\n", "authz/data.json": {}})
    assert sorted(lint.rules()) == ["metadata-missing", "not-import-missing", "test-missing"]


def test_a_folder_that_is_no_policy_is_refused(lint: Linter, opa_binary: Path) -> None:
    for folder in (lint.folder / "aioc", lint.folder.parent, lint.folder / "aioc" / "packs" / "mine"):
        with pytest.raises(PolicyLoadError, match=r"holds no aioc/tool_policy/tool_policy\.rego; start with"):
            lint_policy(folder, opa_binary=opa_binary)


def test_no_such_folder_and_no_such_opa(lint: Linter, tmp_path: Path, opa_binary: Path) -> None:
    with pytest.raises(PolicyLoadError, match="no such folder"):
        lint_policy(tmp_path / "nowhere", opa_binary=opa_binary)
    with pytest.raises(PolicyLoadError, match="cannot be run"):
        lint_policy(lint.folder, opa_binary=tmp_path / "no-opa")


def test_a_changed_library_is_named_file_by_file(lint: Linter) -> None:
    head = "package aioc."
    body = "\n\nimport future.keywords.not\n\n_x := 1\n"
    test = "package aioc.{}_test\n\nimport future.keywords.not\n"
    for folder in ("routes", "lib.verdicts"):
        path = f"aioc/{folder.replace('.', '/')}/zz"
        write(lint.folder, {f"{path}.rego": head + folder + body, f"{path}_test.rego": test.format(folder)})
    found = [(each.rule, each.file) for each in lint.findings() if each.rule != "metadata-missing"]
    assert found == [("library-changed", "aioc/lib/verdicts/zz.rego"), ("library-changed", "aioc/routes/zz.rego")]
