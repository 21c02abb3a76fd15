"""Wrong usage of authorize, and files that it cannot use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, Files, call

# -- wrong usage: exit 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --policy DIR"),
        (["--opa", "unix:/s", "--policy", "rego"], "--policy cannot go with --opa"),
        (["--opa", "unix:/s", "--data", "d.json"], "--data cannot go with --opa"),
        (["--opa", "unix:/s", "--engine", "local"], "--engine cannot go with --opa"),
        (["--policy", "rego", "--token-file", "t"], "--token-file is for --opa"),
        (["--policy", "rego", "--ca-file", "t"], "--ca-file is for --opa"),
        (["--policy", "rego", "--client-cert-file", "t"], "--client-cert-file is for --opa"),
        (["--policy", "rego", "--client-key-file", "t"], "--client-key-file is for --opa"),
        (["--policy", "rego", "--engine", "wasm"], "'--engine': 'wasm' is not one of"),
        (["--opa", "ftp://x"], "http://host:port"),
        (["--opa", "unix:/s", "--path", "a/../b"], "--path: decision path"),
        (["--opa", "unix:/s", "--deadline", "0"], "--deadline"),
        (["--opa", "unix:/s", "--deadline", "soon"], "--deadline"),
        (["--opa", "unix:/s", "--unknown"], "--unknown"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_wrong(
    aioc: Command, files: Files, options: list[str], said: str
) -> None:
    ran = aioc("authorize", files.write("call.json", call()), "--tools", files.tools, *options)
    assert ran.status == 2
    assert said in ran.err
    assert ran.out == ""


def test_without_a_tool_list_is_wrong_usage(aioc: Command, files: Files) -> None:
    assert aioc("authorize", files.write("call.json", call()), "--policy", files.policy).status == 2


# -- a file that cannot be read, or is not what it should be: exit 3


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("{", "not a strict JSON object at character 1"),
        ('{"agentName":"a","agentName":"b"}', "duplicate_key"),
        ("[]", "$: the top level must be an object (not_an_object)"),
        (call(agentName=None), "$.agentName: expected a string"),
        (call(agentName=""), "$.agentName: expected a string"),
        (call(toolName=3), "$.toolName: expected a string"),
        (call(rawArguments=None), "$: give exactly one of"),
        (call(arguments={}), "$: give exactly one of"),
        (call(rawArguments={}), "$.rawArguments: expected a string"),
        (call(rawArguments=None, arguments="{}"), "$.arguments: expected an object"),
        (call(turn=-1), "$.turn: expected an integer"),
        (call(turn=True), "$.turn: expected an integer"),
        (call(callId=""), "$.callId"),
        (call(toolVersion="not ascii é"), "$.toolVersion: "),
        (call(runContext=[]), "$.runContext: "),
        (
            call(runContext={"context": {}, "extra": 1}),
            "$.runContext.extra: not known here; put it under runContext.con",
        ),
        (call(agentName=None, agent="a"), "$.agentName: missing; `agent` is not known"),
        (call(toolName=None, tool="a"), "$.toolName: missing; `tool` is not known"),
        (call(rawArguments=None, args={}), "$: `args` is not known; give exactly one of"),
        ("", "it is empty or blank, which is not JSON (empty_text)"),
        (call(runContext={"runId": 3}), "$.runContext.runId: "),
        (call(principal={"roles": ["a", 3]}), "$.principal."),
        (call(run_context={}), "$.run_context: did you mean 'runContext'?"),
        (call(Turn=1), "$.Turn: did you mean 'turn'?"),
    ],
)
def test_a_call_that_is_none_is_exit_3_with_its_place(decide: Command, document: Any, place: str) -> None:
    ran = decide(document)
    assert ran.status == 3
    assert place in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_other_keys_of_a_call_are_the_authors_own(decide: Command) -> None:
    assert decide(call(recordedResult="x", id="1")).status == 0


def test_files_that_are_missing_are_exit_3(aioc: Command, files: Files, opa: str, tmp_path: Path) -> None:
    path, missing = files.write("call.json", call()), str(tmp_path / "missing")
    rest = ["--opa", opa, "--path", "cases/decision"]
    for arguments in (
        [missing, "--tools", files.tools, *rest],
        [str(tmp_path), "--tools", files.tools, *rest],
        ["/proc/self/mem", "--tools", files.tools, *rest],
        [path, "--tools", missing, *rest],
        [path, "--tools", path, *rest],
        [path, "--tools", files.tools, *rest, "--token-file", missing],
        [path, "--tools", files.tools, "--policy", missing],
        [path, "--tools", files.tools, "--policy", files.policy, "--data", missing],
    ):
        ran = aioc("authorize", *arguments)
        assert ran.status == 3, arguments
        assert ran.err.startswith("aioc-opa: ")
        assert ran.out == ""


def test_a_tool_whose_schema_is_refused_is_exit_3(aioc: Command, files: Files, opa: str) -> None:
    tools = files.write("tools.json", [{"name": "pay", "inputSchema": {"type": "object", "$ref": "http://x/"}}])
    ran = aioc("authorize", files.write("call.json", call()), "--tools", tools, "--opa", opa)
    assert ran.status == 3
    assert "not local" in ran.err


def test_policy_that_does_not_compile_is_exit_3(aioc: Command, files: Files) -> None:
    Path(files.policy, "cases", "cases.rego").write_text("package cases\n\ndecision := {")
    ran = aioc(
        "authorize", files.write("call.json", call()), "--tools", files.tools, "--policy", files.policy,
        "--engine", "local", "--path", "cases/decision",
    )  # fmt: skip
    assert ran.status == 3
    assert "cases.rego" in ran.err
