"""Every command and example in the documents is run (see `blocks` for how, by language)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from aioc_opa.core.strict_json import decode
from tests.conftest import ROOT
from tests.docs.blocks import LANGUAGES, Block, blocks, documents
from tests.docs.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = documents()
PACKAGE = re.compile(r"^package ([a-z0-9_.]+)$", re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def having(*languages: str) -> list[Path]:
    return [path for path in DOCUMENTS if any(block.language in languages for block in blocks(path))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_block_says_how_it_is_tested(path: Path) -> None:
    for block in blocks(path):
        assert block.language in LANGUAGES, f"{block.place}: language {block.language!r}"


@pytest.mark.parametrize("path", having("sh", "python"), ids=name)
def test_commands_and_python_run_in_the_order_of_the_document(
    path: Path,
    tmp_path: Path,
    opa_binary: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with Workspace(tmp_path / "w", opa_binary) as workspace:
        monkeypatch.chdir(workspace.folder)
        monkeypatch.setenv("AIOC_OPA_BIN", workspace.environment["AIOC_OPA_BIN"])
        said = ""
        for block in blocks(path):
            if block.language == "sh":
                said = workspace.run(block)
            elif block.language == "text" and block.argument == "output":
                assert said == workspace.real(block.text), block.place
            elif block.language == "python":
                capsys.readouterr()
                text = "\n" * (block.line - 1) + workspace.real(block.text)  # tracebacks name the document's line
                exec(compile(text, name(path), "exec", dont_inherit=True), namespace)  # noqa: S102 - the document's example
                said = capsys.readouterr().out
        for value in list(namespace.values()):
            if not isinstance(value, type) and hasattr(value, "evaluate"):
                value.close()


def test_python_examples_type_check(tmp_path: Path) -> None:
    files = []
    for path in having("python"):
        lines: list[str] = []
        for block in blocks(path, "python"):
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
        file = tmp_path / f"{path.parent.name}_{path.stem}.py".replace("-", "_")
        file.write_text("\n".join(lines) + "\n")
        files.append(file)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--follow-imports=silent",
            *map(str, files),
        ],
        cwd=ROOT,
        env=os.environ | {"MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", [b for path in DOCUMENTS for b in blocks(path, "rego")], ids=lambda b: b.place)
def test_rego_passes_opa_check_strict(block: Block, tmp_path: Path, opa_binary: Path) -> None:
    package = PACKAGE.search(block.text)
    assert package is not None, f"{block.place}: a Rego example is a whole module, or it is text"
    policy = tmp_path / "policy"
    library = shutil.ignore_patterns(
        "*_test.rego", "packs", "routes", "tool_policy", "handoff_policy", "access_rules", "system"
    )
    shutil.copytree(ROOT / "rego", policy, ignore=library)
    module = policy.joinpath(*package[1].split("."), "example.rego")
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(block.text)
    # As authors do: a name that is not in the contract fails, for the schema's objects are closed.
    for command in (
        ["check", "--strict", "--schema", str(ROOT / "schemas"), str(policy)],
        ["fmt", "--fail", str(module)],
    ):
        done = subprocess.run([str(opa_binary), *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block.place}: opa {command[0]}: {done.stderr}"


@pytest.mark.parametrize("block", [b for path in DOCUMENTS for b in blocks(path, "json")], ids=lambda b: b.place)
def test_json_is_strict_and_of_the_contract_that_it_names(block: Block) -> None:
    value = decode(block.text.strip())
    if block.argument:
        schema = json.loads((ROOT / "schemas" / f"{block.argument}.json").read_text())
        jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
