"""Policies that differ, built and parsed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.packs.bundle_build import BundleTerms, build_bundle
from aioc_opa.packs.bundle_diff_sections import diff_sections
from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_parsed import parse_bundle
from aioc_opa.packs.routes_file import write_routes
from aioc_opa.packs.starter import new_policy
from tests.packs.folders import manifest, pack_module, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.packs.bundle_parsed import ParsedBundle

MODULE = "aioc/packs/p/p.rego"
HELPER = "aioc/packs/p/helper/helper.rego"
OTHER = "aioc/packs/p/other/other.rego"
BODY = """
# METADATA
# title: Second one
deny contains verdict if {
\tinput.toolName == "one"
\thelper.level(input.turn) == "high"
\tverdict := verdicts.deny("a")
}

# METADATA
# title: Big amounts
require_approval contains verdict if {
\tinput.toolName == "one"
\tverdict := verdicts.hold_with("b", approvals.within(approvals.by_persons(["cfo"], 2), 600))
}
"""
LEVEL = """package aioc.packs.p.{name}

level(turn) := "high" if {{
\tturn > 10
}} else := "middle" if {{
\tturn > 5
}} else := "low" if {{
\tturn > 1
}}
"""
DATA_OF_P: dict[str, Any] = {
    "manifest": manifest("one", codes=("a", "b")),
    "limits": {"most": 100, "a.b": 1, "a": {"b": 2}, "roles": ["x", "y", "z"], "on": True},
}


class Policies:
    """Builds and parses one small policy after changes to its files."""

    def __init__(self, folder: Path, opa: Path) -> None:
        self.folder, self.opa, self.count = folder, opa, 0

    def parsed(self, change: Callable[[dict[str, Any]], None] = lambda files: None) -> ParsedBundle:
        self.count += 1
        policy = self.folder / f"policy-{self.count}"
        new_policy(policy)
        module = pack_module("p", BODY).replace(
            "import data.aioc.lib.verdicts",
            "import data.aioc.lib.approvals\nimport data.aioc.lib.verdicts\nimport data.aioc.packs.p.helper",
        )
        files = {
            MODULE: module,
            HELPER: LEVEL.format(name="helper"),
            OTHER: LEVEL.format(name="other"),
            "aioc/packs/p/data.json": json.loads(json.dumps(DATA_OF_P)),
            "aioc/owners/data.json": {"one": "p"},
        }
        change(files)
        write(policy, files)
        write_routes(policy)
        file = self.folder / f"{self.count}.tar.gz"
        terms = BundleTerms(name="t", counter=self.count, owners=["o"])
        file.write_bytes(build_bundle(policy, terms, opa_binary=self.opa, checked=True).archive)
        return parse_bundle(read_bundle(file), opa_binary=self.opa)


def rows(document: Any, title: str) -> list[tuple[str, ...]]:
    return [tuple(row) for section in diff_sections(document) if section.title == title for row in section.rows]


def edit(path: str, old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def change(files: dict[str, Any]) -> None:
        assert old in files[path]
        files[path] = files[path].replace(old, new)

    return change


LISTS = {"statement", "roots", "packs", "approvals", "rules", "elseOrder", "imports", "metadata", "data", "tools"}


def others(document: Any, *named: str) -> dict[str, Any]:
    return {key: document[key] for key in LISTS - {"statement", *named} if document[key]}
