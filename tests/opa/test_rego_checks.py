"""The checks of the Rego tree itself, with the real `opa` (design 5)."""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from aioc_opa.core.reasons import ALLOWED, NO_RULE_ALLOWS, RESERVED
from aioc_opa.models.json_schemas import contract_schemas
from aioc_opa.packs.lint.builtins import permitted_builtins
from aioc_opa.packs.lint.runner import lint_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COVERAGE = 95


@pytest.fixture
def opa(opa_binary: Path, repository: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([opa_binary, *arguments], cwd=repository, capture_output=True, text=True, check=False)

    return run


def test_opa_fmt_changes_nothing(opa: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    output = opa("fmt", "--fail", "--diff", "rego")
    assert (output.returncode, output.stdout) == (0, ""), output.stdout + output.stderr


def test_opa_check_strict_with_schemas_and_capabilities(opa: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    capabilities = "aioc_opa/packs/capabilities.json"
    output = opa("check", "--strict", "--schema", "schemas", "--capabilities", capabilities, "-b", "rego")
    assert output.returncode == 0, output.stderr


def test_opa_test_passes_with_coverage(opa: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    output = opa("test", "-b", "rego", "--coverage", "--format", "json", "--fail-on-empty")
    assert output.returncode == 0, opa("test", "-b", "rego").stdout
    report = json.loads(output.stdout)
    rules = {name: file for name, file in report["files"].items() if not name.endswith("_test.rego")}
    # The whole counts tests too, which are always covered: the modules by themselves are what matters.
    covered = sum(file.get("covered_lines", 0) for file in rules.values())
    missed = {name: file.get("not_covered_lines", 0) for name, file in rules.items() if file.get("not_covered_lines")}
    assert 100 * covered / (covered + sum(missed.values())) >= COVERAGE, missed


def test_opa_inspect_names_every_entrypoint(opa: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    output = opa("inspect", "--annotations", "--format", "json", "rego")
    annotations = json.loads(output.stdout)["annotations"]
    entrypoints = {
        "/".join(part["value"] for part in item["path"][1:])
        for item in annotations
        if item["annotations"].get("entrypoint")
    }
    assert {
        "aioc/tool_policy/decision",
        "aioc/tool_policy/decision_typescript",
        "aioc/handoff_policy/decision",
        "aioc/tool_access/decision",
    } <= entrypoints


def test_our_lint_finds_nothing(repository: Path, opa_binary: Path) -> None:
    assert [str(finding) for finding in lint_policy(repository / "rego", opa_binary=opa_binary)] == []


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ('input.tolName == "x"', "undefined ref: input.tolName"),
        ("input.principal.tenan", "undefined ref: input.principal.tenan"),
        ("input.runContext.contxt", "undefined ref: input.runContext.contxt"),
        ("input.parsedArguments.anything.at.all", None),
        ("input.runContext.context.anything", None),
    ],
)
def test_a_typing_error_in_an_input_path_does_not_compile(
    opa: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, rule: str, problem: str | None
) -> None:
    module = tmp_path / "m.rego"
    module.write_text(f"# METADATA\n# schemas:\n#   - input: schema.tool_policy_input\npackage m\n\na if {rule}\n")
    output = opa("check", "--strict", "--schema", "schemas", module)
    if problem is None:
        assert output.returncode == 0, output.stderr
    else:
        assert problem in output.stderr


def test_schemas_are_those_of_the_models(repository: Path) -> None:
    on_disk = {path.stem: json.loads(path.read_text()) for path in (repository / "schemas").glob("*.json")}
    current = contract_schemas()
    assert {name: on_disk.get(name) for name in current} == current, "run scripts/generate-schemas"


def test_capabilities_are_those_of_the_pinned_opa(repository: Path, opa_binary: Path) -> None:
    output = subprocess.run([opa_binary, "capabilities", "--current"], capture_output=True, text=True, check=True)
    current = {builtin["name"]: builtin for builtin in json.loads(output.stdout)["builtins"]}
    kept = json.loads((repository / "aioc_opa/packs/capabilities.json").read_text())
    names = {builtin["name"] for builtin in kept["builtins"]}
    nondeterministic = {name for name, builtin in current.items() if builtin.get("nondeterministic")}
    assert names <= current.keys()
    assert not names & nondeterministic
    assert {"http.send", "net.lookup_ip_addr", "time.now_ns", "rand.intn", "uuid.rfc4122"} <= nondeterministic
    assert kept["allow_net"] == []
    generator = repository / "scripts/generate-capabilities"
    source = generator.read_text()
    left_out = current.keys() - names - nondeterministic
    assert all(f'"{name}"' in source for name in left_out), "run scripts/generate-capabilities"


def test_what_the_embedded_engine_allows_is_in_the_capabilities() -> None:
    embedded = resources.files("aioc_opa").joinpath("engines", "rego_guard", "builtins.json")
    assert json.loads(embedded.read_text())["allowed"].keys() <= permitted_builtins()


def test_reserved_words_of_the_library_are_those_of_the_runtime(opa_binary: Path, repository: Path) -> None:
    words = sorted({str(reason) for reason in RESERVED} | {ALLOWED, NO_RULE_ALLOWS})
    query = "[code | some code in input; data.aioc.lib.verdict_shapes.is_reserved(code)]"
    output = subprocess.run(
        [opa_binary, "eval", "-b", repository / "rego", "-I", "-f", "json", query],
        input=json.dumps([*words, "over"]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(output.stdout)["result"][0]["expressions"][0]["value"] == words
    source = (repository / "rego/aioc/lib/verdict_shapes/verdict_shapes.rego").read_text()
    assert source.partition("_reserved := `\n")[2].partition("\n`")[0].splitlines() == words
