"""What OPA refuses is what the lint says, with OPA's own place and words."""

from __future__ import annotations

from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from aioc_opa.packs.lint import linted
from aioc_opa.packs.lint.opa_errors import error_findings
from tests.packs.lint.linter import HEAD, SOUND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packs.lint.linter import Linter

MINE = "aioc/packs/mine/mine.rego"
SCHEMA = "# schemas:\n#   - input: schema.{}\n"


def test_the_sound_pack_is_what_opa_takes(lint: Linter) -> None:
    assert lint.findings() == []


def test_a_name_that_is_nowhere_is_found_where_it_stands(lint: Linter) -> None:
    lint.write({"mine.rego": f"{HEAD}{SOUND}\n_helper if not _has_rol\n"})
    (finding,) = lint.findings()
    assert (finding.file, finding.rule) == (MINE, "opa-check")
    assert finding.line == (HEAD + SOUND).count("\n") + 2
    assert finding.message == "rego_unsafe_var_error: var _has_rol is unsafe"


@pytest.mark.parametrize("mine", [f"{HEAD}x if {{\n\ty ==\n}}\n", (HEAD + SOUND).replace("title: Mine", "title: [")])
def test_an_error_of_parsing_is_the_only_finding_and_has_its_line(lint: Linter, mine: str) -> None:
    lint.write({"mine.rego": mine, "limits.json": {}})
    (finding,) = lint.findings()
    assert (finding.file, finding.rule) == (MINE, "parse-error")
    assert finding.line == (HEAD.count("\n") + 3 if "y ==" in mine else 2)  # 2: where the METADATA's title stands
    assert finding.message.startswith("rego_parse_error: ")


def test_an_inspection_that_fails_alone_is_a_finding(lint: Linter, monkeypatch: pytest.MonkeyPatch) -> None:
    run = linted.run_opa

    def failing(opa_binary: Path, *arguments: str, cwd: Path) -> CompletedProcess[str]:
        if arguments[0] == "inspect":
            return CompletedProcess([], 1, "", "error: no such thing")
        return run(opa_binary, *arguments, cwd=cwd)

    monkeypatch.setattr(linted, "run_opa", failing)
    assert [str(finding).partition(" — ")[0] for finding in lint.findings()] == [
        ".:1: inspect-error: error: no such thing"
    ]


def test_a_typing_error_in_an_input_path_is_found_without_a_folder_of_schemas(lint: Linter) -> None:
    text = (HEAD + SOUND).replace("toolName", "tolName")
    lint.write({"mine.rego": text.replace("package", SCHEMA.format("tool_policy_input") + "package", 1)})
    (finding,) = lint.findings()
    assert (finding.rule, "undefined ref: input.tolName" in finding.message) == ("opa-check", True)


def test_an_authors_own_schemas_are_not_held_against_them(lint: Linter) -> None:
    lint.write({"mine.rego": (HEAD + SOUND).replace("package", SCHEMA.format("of_mine") + "package", 1)})
    assert lint.findings() == []


def test_errors_that_are_no_json_keep_their_place_or_their_words(tmp_path: Path) -> None:
    def said(stdout: str, stderr: str) -> list[str]:
        found = error_findings(CompletedProcess([], 1, stdout, stderr), tmp_path, "r", "c")
        return [f"{each.file}:{each.line}: {each.message}" for each in found]

    placed = f"error: bundle .: 1 error occurred: {tmp_path}/a/b.rego:6: rego_parse_error: no\n\t}}\n\t^\n"
    assert said("", placed) == ["a/b.rego:6: rego_parse_error: no"]
    assert said("[1]", "") == [".:1: [1]"]
    assert said("", "") == [".:1: it fails and says nothing"]
    assert said('{"errors": [{}]}', "") == [".:1: error: it is refused"]
