"""What doctor says of this machine and this set-up, and which engine decides when none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, Files, call
from tests.cli.servers import refusing_server

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
    assert "any policy revision counts" in both.out
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
