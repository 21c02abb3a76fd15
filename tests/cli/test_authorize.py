"""`aioc-opa authorize`: one document, and an exit status that says the outcome."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from aioc_opa.cli.deciding import make_guard
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from aioc_opa.models.outcome import Denied
from aioc_opa.tool_lists import ToolDefinition
from tests.cli.conftest import Command, Files, call
from tests.hostile.server import HostileServer

KEYS = [
    "outcome", "stage", "reason", "reasons", "publicReason", "proposalHash", "argsCanonicalJson", "parsedArguments",
    "policyRevision", "engine", "durationMs",
]  # fmt: skip


def test_allow_is_exit_0_and_one_whole_document(decide: Command) -> None:
    ran = decide(call("allow"))
    found = ran.document
    assert ran.status == 0
    assert list(found) == KEYS
    assert (found["outcome"], found["stage"], found["reason"], found["reasons"]) == ("allow", "policy", "allowed", [])
    assert found["parsedArguments"] == {"verdict": "allow", "say": "Too large."}
    assert found["argsCanonicalJson"] == '{"say":"Too large.","verdict":"allow"}'
    proposal = {
        "kind": "tool",
        "agentName": "agent",
        "toolName": "pay",
        "argsCanonicalJson": found["argsCanonicalJson"],
    }
    text = json.dumps(proposal, sort_keys=True, separators=(",", ":"))
    assert found["proposalHash"] == hashlib.sha256(text.encode()).hexdigest()
    assert found["engine"].startswith("opa 1.")
    assert found["publicReason"] is None
    assert found["durationMs"] > 0
    assert ran.err.count("--accept-revision") == 1
    assert "--verbose" not in ran.err


def test_deny_is_exit_10_with_all_codes(decide: Command) -> None:
    ran = decide(call("deny"))
    assert ran.status == 10
    assert ran.document["outcome"] == "deny"
    assert (ran.document["reason"], ran.document["reasons"]) == ("too_large", ["odd", "too_large"])
    assert ran.document["publicReason"] == "Too large."


def test_approval_required_is_exit_11_with_its_terms(decide: Command) -> None:
    ran = decide(call("hold"))
    assert ran.status == 11
    assert ran.document["outcome"] == "approval_required"
    assert ran.document["approval"] == {
        "requirements": [{"code": "large", "approverRoles": ["manager", "owner"], "quorum": 2}],
        "separationOfDuties": True,
        "ttlSeconds": 600,
    }


@pytest.mark.parametrize(
    ("raw", "stage", "code"),
    [
        ("{", "json", "unexpected_end"),
        ("", "json", "empty_arguments"),
        ('{"verdict":"allow","verdict":"deny"}', "json", "duplicate_key"),
        ("[]", "json", "not_an_object"),
        ("{}", "schema", "required"),
        ('{"verdict":"allow","amount":"s3cret"}', "schema", "type"),
    ],
)
def test_invalid_arguments_are_exit_12_and_no_decision(decide: Command, raw: str, stage: str, code: str) -> None:
    ran = decide(call(rawArguments=raw))
    found = ran.document
    assert ran.status == 12
    assert (found["outcome"], found["stage"], found["reason"], found["reasons"]) == (
        "invalid_arguments",
        stage,
        code,
        [],
    )
    assert found["issues"][0]["code"] == code
    assert found["proposalHash"] is None
    assert "s3cret" not in ran.out + ran.err


def test_a_tool_that_is_not_in_the_list_is_denied_at_access(decide: Command) -> None:
    ran = decide(call(toolName="other"))
    assert ran.status == 10
    assert ran.document["stage"] == "access"
    assert (ran.document["reason"], ran.document["reasons"]) == ("tool_not_registered", [])
    assert ran.document["publicReason"] == "This tool is not available."


def test_the_command_line_shows_operators_what_a_caller_is_not_told(decide: Command, aioc: Command) -> None:
    """docs/contract.md, "Outcomes"."""
    with HostileServer() as server, OpaServerEngine(server.url) as engine:
        guard = make_guard(engine, [ToolDefinition("pay", "", {"type": "object"})], path=TOOL_POLICY_PATH, deadline=5)
        denied = guard.authorize("other", "{}", agent_name="agent")
    assert isinstance(denied, Denied)
    assert (denied.code, denied.audit_code) == ("tool_not_authorized", "tool_not_registered")
    document = decide(call(toolName="other")).document
    assert document["reason"] == denied.audit_code
    assert document["publicReason"] == denied.public_reason
    assert "publicReason" in aioc("authorize", "--help").out


@pytest.mark.parametrize(
    ("document", "reason"),
    [(call("malformed"), "policy_malformed_decision"), (call("nothing"), "policy_undefined")],
)
def test_what_policy_does_not_decide_is_denied_by_the_runtime(decide: Command, document: Any, reason: str) -> None:
    ran = decide(document)
    assert ran.status == 10
    assert (ran.document["reason"], ran.document["reasons"], ran.document["stage"]) == (reason, [], "policy")
    assert "run again with --verbose" in ran.err.splitlines()[-1]
    assert "`aioc-opa doctor` with the same options" in ran.err.splitlines()[-1]
    assert "see the log above" in decide(document, "--verbose").err.splitlines()[-1]


def test_an_engine_that_is_not_there_denies(aioc: Command, files: Files) -> None:
    path = files.write("call.json", call())
    ran = aioc("authorize", path, "--tools", files.tools, "--opa", "unix:/nowhere/s", "--json")
    assert ran.status == 10
    assert ran.document["reason"] == "policy_unavailable"
    assert ran.document["engine"] == "opa"


def test_everything_around_the_call_reaches_policy(decide: Command) -> None:
    principal = {"identity": "mia", "tenant": "t", "roles": ["clerk"], "onBehalfOf": ["boss"]}
    context = {"runId": "r", "context": {"a": 1}}
    raw = call("show", toolVersion="1.2", principal=principal, runContext=context, turn=3, callId="c")
    assert decide(raw).document["publicReason"] == "raw|1.2|mia|-"
    decoded = call(rawArguments=None, arguments={"verdict": "show"})
    assert decide(decoded).document["publicReason"] == "decoded|-|-|-"


def test_the_call_may_come_on_standard_input(aioc: Command, files: Files, opa: str) -> None:
    rest = ["--tools", files.tools, "--opa", opa, "--path", "cases/decision", "--json"]
    text = json.dumps(call())
    assert aioc("authorize", "-", *rest, stdin=text).status == 0
    assert aioc("authorize", *rest, stdin=text).status == 0
    assert aioc("authorize", *rest, stdin="").status == 3


def test_text_for_people_names_the_engine_and_cannot_act_on_the_terminal(aioc: Command, files: Files, opa: str) -> None:
    evil = "\x1b[31mred\u202eder\u200b\n\x07"
    path = files.write("call.json", call("deny", rawArguments=json.dumps({"verdict": "deny", "x": evil})))
    rest = ["--tools", files.tools, "--opa", opa, "--path", "cases/decision"]
    ran = aioc("authorize", path, *rest)
    assert ran.status == 10
    assert "engine           opa 1." in ran.out
    assert "odd, too_large" in ran.out
    assert "\\u001b[31mred\\u202eder\\u200b\\n\\u0007" in ran.out
    for text in (ran.out, aioc("authorize", path, *rest, "--json").out):
        assert not set("\x1b\x07\u202e\u200b") & set(text)
    held = aioc("authorize", files.write("call.json", call("hold")), *rest)
    assert "large: 2 of manager or owner" in held.out
    invalid = aioc("authorize", files.write("call.json", call(rawArguments='{"verdict":1}')), *rest)
    assert "$['verdict']: is not of type string (type)" in invalid.out
    broken = aioc("authorize", files.write("call.json", call(rawArguments='{"a":1,}')), *rest)
    assert "at character 6" in broken.out


def test_the_local_engine_decides_with_more_data(aioc: Command, files: Files) -> None:
    data = files.write("more.json", {"limits": {"top": "seven"}})
    path = files.write("call.json", call("show"))
    ran = aioc(
        "authorize", path, "--tools", files.tools, "--policy", files.policy, "--data", data, "--engine", "local",
        "--path", "cases/decision", "--json",
    )  # fmt: skip
    assert ran.status == 10
    assert ran.document["publicReason"] == "raw|-|-|seven"
    assert json.loads(ran.document["policyRevision"])["local"].startswith("sha256:")


def test_verbose_logs_one_safe_line_for_each_record(decide: Command) -> None:
    quiet, loud = decide(call("malformed")), decide(call("malformed"), "--verbose")
    assert "policy_malformed_decision" not in quiet.err
    assert "WARNING aioc_opa.guard: denied pay: policy_malformed_decision" in loud.err
    assert decide(call("malformed")).err == quiet.err
