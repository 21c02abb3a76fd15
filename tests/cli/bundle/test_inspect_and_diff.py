"""bundle inspect and diff, and revisions that count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.policy_files import MANIFEST

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.conftest import Command, Files
from tests.cli.bundle.bundle_cases import PACK, RULES, build

# -- inspect, diff


def test_inspect_says_what_an_auditor_reads(aioc: Command, made: Path, signed: Path) -> None:
    key = ("--public-key", str(made / "signing.pub.pem"))
    document = aioc("bundle", "inspect", str(signed), *key, "--format", "json").document
    assert document["signature"]["verified"] is True
    assert document["bundle"]["owners"] == ["payments team"]
    assert document["tools"] == {
        "refund": {
            "owner": "payments",
            "governedBy": ["payments"],
            "deny": ["amount_above_limit", "amount_not_positive", "role_missing"],
            "approval_required": ["customer_not_verified"],
            "allow": ["within_limits"],
        }
    }
    terms = {"approverRoles": ["approver"], "quorum": 1, "separationOfDuties": True, "ttlSeconds": 3600}
    assert [(each["codes"], each["terms"]) for each in document["approvals"]] == [(["customer_not_verified"], terms)]
    tables = {table["path"]: table["entries"] for table in document["dataTables"]}
    assert tables["aioc.packs.payments.limits"] == 1
    assert "aioc.packs.payments.manifest" not in tables
    titles = {rule.get("title") for rule in document["rules"] if rule["package"] == "aioc.packs.payments"}
    assert {"The amount is above the limit", "The customer has not been verified"} <= titles
    assert "aioc.tool_policy.decision" in document["entrypoints"]
    assert {each["kind"] for each in document["builtins"]} == {"plain"}
    assert document["packs"][0]["needs"]["tools"]["refund"]["context"]["required"] == ["customerVerified"]
    table = aioc("bundle", "inspect", str(signed)).out
    page = aioc("bundle", "inspect", str(signed), "--format", "markdown").out
    assert "not verified: no key was given" in table
    assert "1 of approver, not the requester, within 3600 s" in page
    assert (
        "## Tools: what can come of a call\n\n| tool | what | says |\n| --- | --- | --- |\n| refund | owner | payments |"
        in page
    )
    unsigned = aioc("bundle", "inspect", str(made / "tools.tar.gz"), *key)
    assert (unsigned.status, "is not signed" in unsigned.out) == (1, True)


def test_diff_says_rules_data_and_tools_in_the_same_words(
    aioc: Command, bundle: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)
    file = policy / RULES
    text = file.read_text().replace('role in {"operator", "lead"}', 'role in {"operator"}')
    text = text.replace('verdicts.hold("customer_not_verified")', 'verdicts.deny("customer_not_verified")')
    text = text.replace("require_approval contains", "deny contains")
    text += '\n# METADATA\n# title: "`new` | [x](http://a) \\u202e"\ndeny contains verdict if {\n\tinput.turn > 100\n'
    text += '\tverdict := verdicts.deny("role_missing")\n}\n'
    file.write_text(text)
    data = policy / PACK / "data.json"
    content = json.loads(data.read_text())
    content["limits"]["most"] = 5
    data.write_text(json.dumps(content))
    other = tmp_path / "other.tar.gz"
    assert build(aioc, policy, other, counter=6).status == 0
    ran = aioc("bundle", "diff", str(bundle), str(other), "--format", "json")
    found = ran.document
    assert (ran.status, found["sameContent"], found["rollback"]) == (1, False, True)
    changes = sorted((each["change"], each["rule"], each["title"]) for each in found["rules"])
    assert changes == [
        ("added", "aioc.packs.payments.deny", "The customer has not been verified"),
        ("added", "aioc.packs.payments.deny", "`new` | [x](http://a) \u202e"),
        ("changed", "aioc.packs.payments._has_role", None),
        ("removed", "aioc.packs.payments.require_approval", "The customer has not been verified"),
    ]
    assert found["data"] == [
        {
            "change": "changed",
            "path": "aioc.packs.payments.limits",
            "entries": [{"change": "changed", "key": "most", "before": 100, "after": 5}],
        }
    ]
    (tool,) = found["tools"]
    assert (tool["change"], tool["before"]["approval_required"]) == ("changed", ["customer_not_verified"])
    assert (tool["after"]["approval_required"], "customer_not_verified" in tool["after"]["deny"]) == ([], True)
    assert {each["name"] for each in found["statement"]} == {"counter", "digest", "expiresAt"}
    page = aioc("bundle", "diff", str(bundle), str(other), "--format", "markdown").out
    assert "\\`new\\` \\| \\[x\\]\\(http://a\\) \\\\u202e" in page
    assert "| changed | refund | approval\\_required | customer\\_not\\_verified | - |" in page
    assert "rollback  " in aioc("bundle", "diff", str(bundle), str(other)).out
    same = aioc("bundle", "diff", str(bundle), str(bundle))
    assert (same.status, "the same content" in same.out) == (0, True)


def test_a_missing_bundle_or_one_of_another_maker_is_refused(aioc: Command, tmp_path: Path) -> None:
    assert "no such bundle" in aioc("bundle", "inspect", str(tmp_path / "none")).err
    other = tmp_path / "o.tar.gz"
    for files, said in (
        ({"a/a.rego": b"package a\n"}, "has no .manifest"),
        ({"a/a.rego": b"package a\n", MANIFEST: b'{"revision":"1"}'}, "no statement of its publisher"),
        ({MANIFEST: b'{"metadata":{"aioc":{"version":2}}}'}, "metadata.aioc.version"),
        ({MANIFEST: b'{"metadata":7}'}, "metadata must be an object"),
    ):
        other.write_bytes(bundle_archive(files))
        ran = aioc("bundle", "inspect", str(other))
        assert (ran.status, said in ran.err) == (3, True), ran.err


# -- the revisions that count, for authorize and replay


def test_authorize_denies_under_a_revision_that_is_not_accepted(aioc: Command, files: Files, bundle: Path) -> None:
    call = {
        "agentName": "a",
        "toolName": "refund",
        "rawArguments": '{"amount": 5}',
        "runContext": {"context": {"customerVerified": True}},
    }
    call["principal"] = {"identity": "x", "roles": ["lead"]}
    tools = files.write("refund.json", [{"name": "refund", "inputSchema": {"type": "object"}}])
    common = (
        "authorize",
        files.write("c.json", call),
        "--tools",
        tools,
        "--policy",
        str(bundle),
        "--engine",
        "local",
    )
    revision = str(read_bundle(bundle).revision)
    named = aioc(*common, "--accept-revision", revision, "--min-counter", "local=7")
    assert (named.status, "any policy revision counts" in named.err) == (0, False)
    assert "any policy revision counts" in aioc(*common).err
    for option in (("--min-counter", "8"), ("--accept-revision", "sha256:0"), ("--min-counter", "tools=7")):
        ran = aioc(*common, *option, "--json")
        assert (ran.status, ran.document["reason"]) == (10, "policy_revision_rejected")
    for wrong in (
        ("--min-counter", "x"),
        ("--min-counter", "=7"),
        ("--accept-revision", "a="),
        ("--min-counter", "7", "--min-counter", "8"),
    ):
        assert aioc(*common, *wrong).status == 2
    lines = files.lines("calls.jsonl", [{"id": "1", **call}])
    replayed = aioc(
        "replay", lines, "--tools", tools, "--policy", str(bundle), "--engine", "local", "--min-counter", "8"
    )
    assert (replayed.status, "any policy revision counts" in replayed.err) == (1, False)
