"""Schemas of tools, for OPA's checker."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from aioc_opa.core.tool_schemas.json_schema_for_opa import for_opa_check
from aioc_opa.models.json_schemas import contract_schemas
from tests.cli.conftest import TOOLS, Command, Files

if TYPE_CHECKING:
    from pathlib import Path

# -- schema export


def test_the_example_of_schema_export_works_on_a_pack_with_samples(
    aioc: Command, files: Files, rego: Path, opa_binary: Path
) -> None:
    (example,) = (line for line in aioc("schema", "export", "--help").out.splitlines() if "&&" in line)
    _, _, check = example.partition(" && opa ")
    schemas = rego.parent / "schemas"
    assert aioc("schema", "contract", "--out", str(schemas)).out.splitlines()[0] == str(
        schemas / "tool_policy_input.json"
    )
    assert aioc("schema", "export", files.tools, "--out", str(schemas / "tools")).status == 0
    done = subprocess.run(
        [opa_binary, *check.split()], cwd=rego.parent, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def opa_check(opa_binary: Path, folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "rules.rego").write_text(
        f"package rules\n\n# METADATA\n# schemas:\n#   - input.parsedArguments: schema.tools.pay\ndeny if {body}\n"
    )
    return subprocess.run(
        [opa_binary, "check", "--strict", "--schema", folder / "schemas", folder / "rules.rego"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_rule_that_reads_an_argument_that_does_not_exist_fails_to_compile(
    aioc: Command, files: Files, opa_binary: Path
) -> None:
    found = aioc("schema", "export", files.tools, "--out", str(files.folder / "schemas" / "tools"))
    assert found.status == 0
    assert found.out.strip().endswith("pay.json")
    assert opa_check(opa_binary, files.folder, "input.parsedArguments.amount > 3").returncode == 0
    misspelt = opa_check(opa_binary, files.folder, "input.parsedArguments.amuont > 3")
    assert misspelt.returncode != 0
    assert "undefined ref" in misspelt.stderr


RECURSIVE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "tree": {"$ref": "#/$defs/node"},
        "all": {"type": "array", "items": {"$ref": "#"}},
        "name": {"$ref": "#/$defs/name"},
    },
    "$defs": {
        "node": {"type": "object", "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}},
        "name": {"type": "string", "enum": ["a", ["b", {"c": 1}]]},
    },
}


def test_recursion_is_cut_off_for_opa_check_dies_of_it(aioc: Command, files: Files, opa_binary: Path) -> None:
    tools = files.write("tools.json", [{"name": "pay", "inputSchema": RECURSIVE}])
    assert aioc("schema", "export", tools, "--out", str(files.folder / "schemas" / "tools")).status == 0
    assert opa_check(opa_binary, files.folder, 'input.parsedArguments.tree.value == "x"').returncode == 0
    assert opa_check(opa_binary, files.folder, "input.parsedArguments.tree.next.anything").returncode == 0
    assert opa_check(opa_binary, files.folder, "input.parsedArguments.tree.valeu").returncode != 0
    exported = for_opa_check(RECURSIVE, tool_name="pay")
    assert exported["properties"] == {
        "tree": {"$ref": "#/$defs/node"},
        "all": {"type": "array", "items": {}},
        "name": {"$ref": "#/$defs/name"},
    }
    assert "$schema" not in exported
    assert "$schema" in RECURSIVE


def test_without_out_one_document_is_printed(aioc: Command, files: Files) -> None:
    assert aioc("schema", "contract").document == contract_schemas()
    assert aioc("schema", "export", files.tools).document == {"pay": TOOLS[0]["inputSchema"]}


def test_schema_export_refusals(aioc: Command, files: Files, tmp_path: Path) -> None:
    clash = [{**TOOLS[0], "name": "a.b"}, {**TOOLS[0], "name": "a-b"}]
    found = aioc("schema", "export", files.write("two.json", clash), "--out", str(tmp_path / "s"))
    assert found.status == 3
    assert "would both be a_b.json" in found.err
    assert aioc("schema", "export", files.write("two.json", clash)).status == 0
    bad = files.write("bad.json", [{**TOOLS[0], "inputSchema": {"type": "string"}}])
    assert aioc("schema", "export", bad).status == 3
    assert "cannot be written" in aioc("schema", "export", files.tools, "--out", "/proc/nowhere").err
    assert aioc("schema", "export").status == 2
