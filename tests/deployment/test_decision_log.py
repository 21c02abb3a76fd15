"""rego/system/log on a real OPA: what its decision log shows of a question, and what it never does.

Erased are every view of the arguments, the hashes (of arguments that can be guessed) and `runContext.context`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.deployment.compose_opa import Server

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-5f3a91"
HASH = hashlib.sha256(b"4711").hexdigest()
DECISION = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&provenance=true"
SHOWN: dict[str, Any] = {
    "contractVersion": "1",
    "kind": "tool",
    "requestId": "0af7651916cd43dd8448eb211c80319c",
    "callId": "call_9",
    "agentName": "concierge",
    "toolName": "nobody_owns_this",
    "turn": 1,
    "principal": {"identity": "alice", "roles": []},
    "decodeAssurance": "raw",
}
QUESTION: dict[str, Any] = {
    **SHOWN,
    "rawArguments": json.dumps({"note": CANARY}),
    "requestedArguments": {"note": CANARY},
    "parsedArguments": {"note": CANARY},
    "argsCanonicalJson": json.dumps({"note": CANARY}),
    "proposalHash": HASH,
    "runContext": {"runId": "run-1", "context": {"customer": CANARY}},
}


def decisions(log: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in log.splitlines()]
    return [event for event in events if event.get("msg") == "Decision Log"]


def test_it_decides_and_denies_by_default_and_logs_neither_argument_nor_hash(server: Server) -> None:
    status, answer = server.ask("POST", DECISION, {"input": QUESTION})
    assert status == 200
    assert answer["result"]["decision"] == "deny"
    assert answer["result"]["proposalHash"] == HASH
    for odd in (CANARY, [CANARY], {CANARY: CANARY}, {**QUESTION, "toolName": {"note": CANARY}, "added": CANARY}):
        server.ask("POST", DECISION, {"input": odd})
    server.ask("POST", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&input=" + CANARY, {"input": {}})
    server.ask("GET", f"/v1/data?input={CANARY}")
    log = server.stop()
    logged = decisions(log)
    assert len(logged) == 5
    assert logged[0]["input"] == {**SHOWN, "runContext": {"runId": "run-1"}}
    assert logged[0]["result"] == {key: value for key, value in answer["result"].items() if key != "proposalHash"}
    assert logged[0]["decision_id"] == answer["decision_id"]
    assert CANARY not in log
    assert HASH not in log


def test_a_handoff_is_logged_by_its_ends_without_payload_and_hash(server: Server) -> None:
    shown = {key: SHOWN[key] for key in ("contractVersion", "requestId", "turn", "principal")}
    shown |= {"kind": "handoff", "fromAgentName": "Triage Agent", "toAgentName": "nobody"}
    asked = {**shown, "handoffPayload": {"note": CANARY}, "payloadCanonicalJson": CANARY, "proposalHash": HASH}
    answer = server.ask("POST", DECISION.replace("tool_policy", "handoff_policy"), {"input": asked})[1]
    assert answer["result"]["proposalHash"] == HASH
    log = server.stop()
    (logged,) = decisions(log)
    assert logged["input"] == shown
    assert logged["result"] == {key: value for key, value in answer["result"].items() if key != "proposalHash"}
    assert not any(erased in log for erased in (CANARY, HASH))


def test_a_decision_on_access_is_logged_without_its_digest(server: Server) -> None:
    request = {"identity": "alice", "toolName": "nobody_owns_this", "deadlineSeconds": 5.0, "resourceBudget": 1}
    shown = {"contractVersion": "1", "kind": "access", "requestId": "r-2"}
    target = DECISION.replace("tool_policy", "tool_access")
    asked = {**shown, "requestDigest": HASH, "request": {**request, "arguments": CANARY, "model": {"note": CANARY}}}
    status, answer = server.ask("POST", target, {"input": asked})
    assert (status, answer["result"]["decision"], answer["result"]["requestDigest"]) == (200, "deny", HASH)
    for below in ("", "/table", "_rules", "_rules/loaded"):
        assert server.ask("POST", target.replace("/decision", below), {"input": {}})[0] == 401
    log = server.stop()
    (logged,) = decisions(log)
    assert logged["input"] == {**shown, "request": request}
    assert logged["result"] == {key: value for key, value in answer["result"].items() if key != "requestDigest"}
    assert not any(erased in log for erased in (CANARY, HASH))


def test_who_approved_is_logged_and_neither_what_they_said_nor_a_hash(server: Server) -> None:
    vote = {"personId": "ann", "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}
    shown = {"id": "apr_1", "requestedBy": "alice", "requesters": ["kim"], "expiresAt": "2026-01-01T01:00:00Z"}
    evidence = {**shown, "proposalHash": HASH, "policyRevision": json.dumps({CANARY: HASH})}
    server.ask(
        "POST", DECISION, {"input": {**QUESTION, "approval": {**evidence, "votes": [{**vote, "reason": CANARY}]}}}
    )
    spoilt = {"id": f'"{CANARY}"', "requestedBy": [CANARY], "requesters": f"{{{CANARY}}}", "expiresAt": CANARY}
    votes = [{"personId": {"n": CANARY}, "roles": [[CANARY]], "verdict": CANARY, "at": CANARY}]
    principal = {"identity": f"{CANARY}\n", "tenant": {"n": CANARY}, "roles": CANARY, "onBehalfOf": [[CANARY]]}
    spoilt_question = {**QUESTION, "principal": principal, "approval": {**spoilt, "votes": votes}}
    server.ask("POST", DECISION, {"input": spoilt_question})
    log = server.stop()
    sound, odd = decisions(log)
    assert sound["input"]["approval"] == {**shown, "votes": [vote]}
    assert (odd["input"]["principal"], odd["input"]["approval"]) == ({}, {"votes": [{}]})
    assert not any(erased in log for erased in (CANARY, HASH))


def test_the_codes_of_packs_are_logged_and_any_other_is_undeclared(
    opa_binary: Path, service: dict[str, Any], repository: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "codes-under-test"
    shutil.copytree(repository / "rego" / "system", policies / "system")
    pack = policies / "aioc" / "packs" / "shop"
    pack.mkdir(parents=True)
    (pack / "data.json").write_text(json.dumps({"manifest": {"codes": ["too_much"]}}))
    (pack / "shop.rego").write_text("package aioc.packs.shop\n\nloaded := true\n")
    (policies / "aioc" / "tool_policy").mkdir()
    (policies / "aioc" / "tool_policy" / "p.rego").write_text(
        "package aioc.tool_policy\n\n"
        'decision := {"decision": "deny", "reason": input.parsedArguments.note,'
        ' "reasons": ["too_much", "pack_missing", input.parsedArguments.note]}\n'
    )
    server = Server(opa_binary, service, policies, tmp_path / "log")
    try:
        server.up()
        server.ask("POST", DECISION, {"input": QUESTION})
    finally:
        log = server.stop()
    (logged,) = decisions(log)
    assert logged["result"] == {
        "decision": "deny",
        "reason": "undeclared",
        "reasons": ["too_much", "pack_missing", "undeclared"],
    }
    assert CANARY not in log


def test_the_revision_that_decided_is_logged(
    opa_binary: Path, service: dict[str, Any], repository: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "rego-with-a-revision"
    shutil.copytree(repository / "rego", policies)
    (policies / ".manifest").write_text(json.dumps({"revision": "7-abc"}))
    command = [argument.replace(",.*", "") for argument in service["command"]]  # the manifest of a folder counts then
    server = Server(opa_binary, {**service, "command": command}, policies, tmp_path / "log")
    try:
        server.up()
        server.ask("POST", DECISION, {"input": QUESTION})
    finally:
        log = server.stop()
    (logged,) = decisions(log)
    assert [bundle["revision"] for bundle in logged["bundles"].values()] == ["7-abc"]


def test_an_evaluation_error_does_not_bring_an_argument_into_the_log(
    opa_binary: Path, service: dict[str, Any], repository: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "policies-under-test"
    shutil.copytree(repository / "rego" / "system", policies / "system")
    (policies / "aioc" / "tool_policy").mkdir(parents=True)
    (policies / "aioc" / "tool_policy" / "p.rego").write_text(
        "package aioc.tool_policy\n\ndecision := to_number(input.parsedArguments.note)\n"
    )
    server = Server(opa_binary, service, policies, tmp_path / "log")
    try:
        server.up()
        status, answer = server.ask("POST", DECISION, {"input": QUESTION})
    finally:
        log = server.stop()
    assert status == 500
    assert CANARY in json.dumps(answer)  # OPA does quote it, to the caller
    assert CANARY not in log


@pytest.mark.parametrize("folder", ["lib", "routes", "handoff_policy", "tool_policy"])
def test_every_code_of_the_librarys_own_rules_is_known_to_the_log(repository: Path, folder: str) -> None:
    known = (repository / "rego" / "system" / "log" / "codes.rego").read_text()
    for file in (repository / "rego" / "aioc" / folder).rglob("*.rego"):
        if not file.name.endswith("_test.rego"):
            text = re.sub(r"^\s*#.*$", "", file.read_text(), flags=re.MULTILINE)
            for code in re.findall(r'(?:\.deny|\.allow|\.hold|\.hold_with)\("(\w+)"|"(?:code|reason)": "(\w+)"', text):
                assert f'"{code[0] or code[1]}"' in known, file
