"""hash, doctor, schema export, routes, lint and new pack."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.tool_schemas.json_schema_for_opa import for_opa_check
from aioc_opa.models.json_schemas import contract_schemas
from tests.cli.conftest import TOOLS, Command, Files, call
from tests.cli.servers import refusing_server


@pytest.fixture
def rego(repository: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(repository / "rego", tmp_path / "rego"))


# -- hash


def test_hash_prints_what_other_languages_compare(aioc: Command, files: Files) -> None:
    path = files.write("call.json", call(rawArguments='{"verdict":"é","amount":1.0}'))
    canonical = '{"amount":1,"say":"Too large.","verdict":"é"}'
    digest = tool_proposal_hash(agent_name="agent", tool_name="pay", args_canonical_json=canonical)
    with_tools = aioc("hash", path, "--tools", files.tools, "--json")
    assert with_tools.status == 0
    assert with_tools.document == {"argsCanonicalJson": canonical, "proposalHash": digest}
    text = aioc("hash", path, "--tools", files.tools)
    assert text.out.splitlines() == [f"argsCanonicalJson  {canonical}", f"proposalHash       {digest}"]


def test_hash_without_tools_takes_the_arguments_as_sent(aioc: Command) -> None:
    found = aioc("hash", "--json", stdin=json.dumps(call(rawArguments=None, arguments={"b": 1, "a": 1e21})))
    assert found.document["argsCanonicalJson"] == '{"a":1e+21,"b":1}'


def test_hash_of_what_cannot_be_hashed(aioc: Command, files: Files) -> None:
    invalid = aioc("hash", files.write("call.json", call(rawArguments="{")), "--json")
    assert (invalid.status, invalid.out) == (12, "")
    assert aioc("hash", files.write("call.json", call(rawArguments="{}")), "--tools", files.tools).status == 12
    unknown = aioc("hash", files.write("call.json", call(toolName="other")), "--tools", files.tools)
    assert unknown.status == 3
    assert "$.toolName: no such tool" in unknown.err


# -- doctor


def test_doctor_says_what_is_here_and_what_is_for_production(aioc: Command) -> None:
    found = aioc("doctor")
    assert found.status == 0
    assert "regorus 0.13.0; embedded is for trying out, CI and replay; production asks OPA" in found.out
    assert "OPA 1." in found.out
    assert "give --policy DIR, or --opa URL" in found.out


def test_doctor_asks_each_engine_for_a_probe(aioc: Command, files: Files, opa: str) -> None:
    both = aioc(
        "doctor", "--policy", files.policy, "--path", "cases/decision", "--engine", "both", "--tools", files.tools
    )
    assert both.status == 0
    assert "ok    embedded decides" in both.out
    assert "ok    local decides" in both.out
    assert "UnsafeAnyRevision" in both.out
    server = aioc("doctor", "--opa", opa, "--path", "cases/decision", "--json")
    topics = {each["topic"]: each["ok"] for each in server.document["findings"]}
    assert topics[f"{opa} decides"] is True
    assert topics["policy API"] is False  # it decides, and it is open to everybody
    assert server.status == 1
    assert topics["tools"] is None


def test_doctor_names_the_tools_that_no_pack_owns(aioc: Command, files: Files, rego: Path) -> None:
    options = ["doctor", "--policy", str(rego), "--engine", "embedded", "--tools"]
    unowned = aioc(*options, files.tools)
    assert unowned.status == 1
    assert "no owner: pay: every call of it is denied; `aioc-opa new pack NAME --tool pay`" in unowned.out
    assert aioc("new", "pack", "payments", "--tool", "pay", "--policy", str(rego)).status == 0
    owned = aioc(*options, files.tools)
    assert owned.status == 0
    assert "every tool has a pack that owns it" in owned.out
    (rego / "aioc" / "routes" / "routes.rego").unlink()
    assert "owner" not in aioc(*options, files.tools).out


def test_doctor_of_a_policy_that_is_not_there_is_exit_3(aioc: Command, files: Files) -> None:
    found = aioc("doctor", "--policy", str(files.folder / "nope"), "--engine", "embedded")
    assert (found.status, found.out) == (3, "")
    assert "no such policy folder or bundle" in found.err


def test_doctor_indents_what_an_engine_says_in_several_lines(aioc: Command, files: Files) -> None:
    Path(files.policy, "cases", "cases.rego").write_text("package cases\n\ndecision := {\n\t1: ]\n}\n")
    found = aioc("doctor", "--policy", files.policy, "--engine", "embedded")
    assert found.status == 1
    assert "\\u000a" not in found.out
    assert "\\u0009" not in found.out
    lines = found.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("FAILS"))
    assert lines[start + 1].startswith(" " * lines[0].index("0.1"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--path", "cases/decsion"], "misspelt"),
        (["--path", "cases/echoes"], "not a decision of the contract"),
        (["--path", "cases"], "no value at data.cases"),
    ],
)
def test_doctor_fails_with_exit_1_and_says_why(aioc: Command, opa: str, options: list[str], said: str) -> None:
    found = aioc("doctor", "--opa", opa, *options)
    assert found.status == 1
    assert "FAILS" in found.out
    assert said in found.out or "not a decision of the contract" in found.out


def test_doctor_finds_a_policy_that_allows_anything_and_a_server_that_is_away(aioc: Command, files: Files) -> None:
    Path(files.policy, "cases", "cases.rego").write_text(
        "package cases\n\nimport future.keywords.not\n\ndecision := answer if {\n"
        '\tanswer := {"decision": "allow", "reason": "allowed", "reasons": [], "proposalHash": input.proposalHash, '
        '"requestId": input.requestId, "kind": input.kind}\n}\n'
    )
    open_policy = aioc("doctor", "--policy", files.policy, "--path", "cases/decision", "--engine", "embedded")
    assert open_policy.status == 1
    assert "ALLOWS a tool that nobody owns" in open_policy.out
    away = aioc("doctor", "--opa", "http://127.0.0.1:1")
    assert away.status == 1
    assert "cannot be reached" in away.out


def test_doctor_says_that_a_server_refuses_us_and_its_columns_do_not_run_together(aioc: Command) -> None:
    with refusing_server() as url:
        found = aioc("doctor", "--opa", url)
    assert found.status == 1
    (line,) = (line for line in found.out.splitlines() if line.startswith("FAILS"))
    assert line.startswith(f"FAILS {url} decides  opa engine: ")
    assert "refuses us" in line
    assert "system.authz let this token ask for data.aioc.tool_policy.decision" in line
    assert "status 401" in line
    for other, text in zip(found.out.splitlines(), ("0.1", "regorus", "OPA 1."), strict=False):
        assert other.index(text) == line.index("opa engine")


def test_doctor_shows_one_engine_although_the_other_fails(
    aioc: Command, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIOC_OPA_BIN", "/nowhere/opa")
    found = aioc("doctor", "--policy", files.policy, "--path", "cases/decision", "--engine", "both")
    assert found.status == 1
    assert "ok    embedded decides" in found.out
    assert "FAILS local decides" in found.out
    assert "needed by --engine local only" in found.out


def test_doctor_without_regorus(aioc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "regorus", None)
    found = aioc("doctor")
    assert found.status == 0
    assert "-     embedded engine" in found.out
    assert "pip install 'aioc-opa[embedded]'" in found.out


# -- which engine decides when none is named


def test_an_opa_that_is_given_decides_and_else_the_embedded_engine_is_named(
    aioc: Command, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = ["--tools", files.tools, "--policy", files.policy, "--path", "cases/decision", "--json"]
    path = files.write("call.json", call())
    assert aioc("authorize", path, *rest).document["engine"].startswith("opa ")
    monkeypatch.delenv("AIOC_OPA_BIN")
    monkeypatch.setenv("PATH", "/nowhere")
    embedded = aioc("authorize", path, *rest)
    assert embedded.document["engine"].startswith("regorus ")
    assert "production asks OPA" in embedded.err
    assert aioc("doctor", *rest[2:6]).status == 0


def test_an_opa_that_may_not_be_used_is_no_reason_to_judge_with_another(
    aioc: Command, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIOC_OPA_BIN", files.write("opa", "#!/bin/sh\n"))
    found = aioc("authorize", files.write("call.json", call()), "--tools", files.tools, "--policy", files.policy)
    assert found.status == 3
    assert "AIOC_OPA_BIN" in found.err


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
