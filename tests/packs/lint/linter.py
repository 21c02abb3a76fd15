"""A policy folder that the lint has nothing against, to spoil in one place at a time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from aioc_opa.packs.lint.runner import lint_policy
from aioc_opa.packs.routes_file import write_routes
from tests.packs.folders import manifest, write

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from aioc_opa.packs.lint.finding import Finding

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
        for part in (
            "lib/verdicts",
            "lib/verdict_shapes",
            "lib/decisions",
            "lib/evidence",
            "lib/routing",
            "tool_policy",
        ):
            shutil.copytree(repository / "rego/aioc" / part, folder / "aioc" / part)
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
        """Without what OPA says: it refuses much of what our rules are tried on, and decides by the rest."""
        return [finding.rule for finding in self.findings() if finding.rule not in {"opa-check", "sample-differs"}]

    def body(self, *statements: str) -> list[str]:
        """The findings when the pack's helper is made of `statements`."""
        lines = "".join(f"\t{statement}\n" for statement in statements)
        self.write({"mine.rego": f"{HEAD}{SOUND}\n_helper if {{\n{lines}}}\n"})
        return self.rules()
