"""New packs, routes and lint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command, Files

# -- new pack, routes, lint


def test_a_new_pack_passes_routes_lint_and_a_decision(aioc: Command, files: Files, rego: Path) -> None:
    made = aioc("new", "pack", "payments", "--policy", str(rego), "--tool", "pay")
    assert made.status == 0
    assert "payments.rego" in made.out
    assert str(rego / "aioc" / "routes" / "routes.rego") in made.out.splitlines()
    assert aioc("routes", str(rego), "--check").status == 0
    linted = aioc("lint", str(rego), "--json")
    assert [found for found in linted.document["findings"] if "/payments/" in found["file"]] == []
    sample = next(iter(sorted((rego / "aioc" / "packs" / "payments" / "samples").glob("*.json"))))
    content = json.loads(sample.read_text())
    tools = files.write("tools.json", [{"name": "pay", "inputSchema": {"type": "object"}}])
    decided = aioc(
        "authorize", files.write("call.json", content["call"]), "--tools", tools, "--policy", str(rego), "--engine",
        "both", "--json",
    )  # fmt: skip
    assert decided.document["outcome"] == content["expected"]["decision"]
    assert decided.document["reasons"] == content["expected"]["reasons"]
    again = aioc("new", "pack", "payments", "--policy", str(rego))
    assert (again.status, "there already" in again.err) == (3, True)


def test_a_new_pack_owns_every_tool_that_is_named(aioc: Command, rego: Path) -> None:
    named = ("--tool", "send_email", "--tool", "delete_email")
    assert aioc("new", "pack", "mail", "--policy", str(rego), *named).status == 0
    owners = json.loads((rego / "aioc" / "owners" / "data.json").read_text())
    assert {tool for tool, pack in owners.items() if pack == "mail"} == {"send_email", "delete_email"}
    assert aioc("new", "pack", "other", "--policy", str(rego), "--rules", "nonsense").status == 2


def test_stale_routes_are_exit_1_under_check_and_are_written_else(aioc: Command, rego: Path) -> None:
    routes = rego / "aioc" / "routes" / "routes.rego"
    before = routes.read_text()
    assert aioc("routes", str(rego)).out.endswith("current\n")
    routes.write_text(before + "\n# edited\n")
    stale = aioc("routes", str(rego), "--check")
    assert stale.status == 1
    assert "stale; run: aioc-opa routes" in stale.err
    assert aioc("routes", str(rego)).out.endswith("written\n")
    assert routes.read_text() == before
    missing = aioc("routes", str(rego / "nowhere"))
    assert (missing.status, "no such folder" in missing.err) == (3, True)


def test_lint_says_what_it_found(aioc: Command, rego: Path, opa_binary: Path) -> None:
    started = rego.parent / "started"
    made = aioc("new", "policy", str(started))
    assert made.status == 0
    assert f"next: aioc-opa new pack NAME --policy {started} --tool TOOL" in made.err
    fine = aioc("lint", str(started), "--opa-binary", str(opa_binary))
    assert (fine.status, fine.out) == (0, f"{started}: clean\n")
    (rego / "aioc" / "packs" / "airline" / "extra.json").write_text("{}")
    found = aioc("lint", str(rego))
    assert found.status == 1
    assert "extra.json:1: data-file-name" in found.out
    assert found.out.endswith("\n1 finding\n")
    assert aioc("lint", str(rego / "nowhere")).status == 3
    no_policy = aioc("lint", str(rego / "aioc"))
    assert (no_policy.status, "start with `aioc-opa new policy`" in no_policy.err) == (3, True)
    assert aioc("lint", str(rego), "--opa-binary", "opa").status == 3
