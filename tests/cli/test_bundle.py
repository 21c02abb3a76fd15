"""`aioc-opa bundle …` on a small policy, with the real `opa`: what is built, refused, verified and said."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.packs.bundle_file import DATA, read_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.scaffolding_rules import PackRules
from aioc_opa.packs.starter import new_policy
from tests.opa.bundle_server import signing_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.conftest import Command, Files, Ran

PACK = "aioc/packs/payments"
RULES = f"{PACK}/payments.rego"
OWNER = ("--owner", "payments team")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy, its bundle signed and unsigned, and the key."""
    folder = tmp_path_factory.mktemp("bundles")
    new_policy(folder / "policy")
    new_pack("payments", folder / "policy", tools=["refund"], rules=PackRules.AMOUNTS)
    signing_key(folder)
    return folder


@pytest.fixture
def policy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "policy", tmp_path / "p"))


def build(aioc: Command, policy: Path, out: Path, *arguments: str, counter: int = 7) -> Ran:
    named = () if "--name" in arguments else ("--name", "tools")
    return aioc(
        "bundle", "build", str(policy), *named, "--counter", str(counter), *OWNER, "-o", str(out), *arguments
    )  # fmt: skip


@pytest.fixture
def bundle(aioc: Command, made: Path) -> Path:
    out = made / "tools.tar.gz"
    if not out.exists():
        assert build(aioc, made / "policy", out, "--expires", "2030-01-01T00:00:00Z").status == 0
    return out


@pytest.fixture
def signed(aioc: Command, made: Path, bundle: Path) -> Path:
    out = made / "signed.tar.gz"
    if not out.exists():
        ran = aioc("bundle", "sign", str(bundle), "--key", str(made / "signing.pem"), "-o", str(out))
        assert (ran.status, ran.out) == (0, f"{out}: signed with RS256\n")
    return out


def verify(aioc: Command, made: Path, *arguments: object) -> Ran:
    key = ("--public-key", str(made / "signing.pub.pem"))
    return aioc("bundle", "verify", *map(str, arguments), *key, "--at", "2027-01-01T00:00:00Z", "--json")


def failing(ran: Ran) -> dict[str, str]:
    checks = [check for each in ran.document["bundles"] for check in each["checks"]] + ran.document["together"]
    return {check["check"]: check["text"] for check in checks if check["ok"] is False}


def changed(source: Path, target: Path, change: Mapping[str, bytes | None], **manifest: Any) -> Path:
    """A copy with other files, and other entries of the manifest."""
    files = {**read_bundle(source).files, **change}
    if manifest:
        files[MANIFEST] = json.dumps({**json.loads(files[MANIFEST] or b""), **manifest}).encode()
    target.write_bytes(bundle_archive({name: content for name, content in files.items() if content is not None}))
    return target


# -- build


def test_the_same_policy_gives_the_same_bytes_and_the_digest_is_of_the_content_alone(
    aioc: Command, made: Path, bundle: Path, tmp_path: Path
) -> None:
    again, other = tmp_path / "again.tar.gz", tmp_path / "other.tar.gz"
    build(aioc, made / "policy", again, "--expires", "2030-01-01T00:00:00Z")
    assert again.read_bytes() == bundle.read_bytes()
    built = build(aioc, made / "policy", other, "--created", "2026-12-01T00:00:00Z", "--json", counter=8)
    assert read_bundle(other).revision.digest == read_bundle(bundle).revision.digest
    assert built.document == {"bundle": str(other), "name": "tools", "revision": str(read_bundle(other).revision)}
    assert str(read_bundle(other).revision).startswith("8-")
    assert stat.S_IMODE(other.stat().st_mode) & 0o022 == 0


def test_the_roots_own_every_package_every_table_and_every_path_that_a_pack_declares(
    aioc: Command, policy: Path, tmp_path: Path
) -> None:
    file = policy / PACK / "data.json"
    content = json.loads(file.read_text())
    content["manifest"]["data"]["properties"]["limits_of_all"] = {"type": "object"}
    file.write_text(json.dumps(content))
    assert aioc("routes", str(policy)).status == 0
    assert build(aioc, policy, tmp_path / "b.tar.gz").status == 0
    assert read_bundle(tmp_path / "b.tar.gz").roots == (
        ("aioc",),
        ("limits_of_all",),
        ("system", "authz"),
        ("system", "log"),
    )
    only = build(aioc, policy, tmp_path / "c.tar.gz", "--only", PACK)
    assert (only.status, "declares data.limits_of_all, which nobody would own" in only.err) == (3, True)
    both = build(aioc, policy, tmp_path / "c.tar.gz", "--only", PACK, "--only", "limits_of_all")
    assert both.status == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("aioc/routes/routes.rego", "package aioc.routes\n\n", "package aioc.routes\n\n# x\n\n"), "routes-stale"),
        ((RULES, "\nloaded := true\n", "\nloaded := true\n\nnow := time.now_ns()\n"), "time.now_ns"),
        (
            (RULES, "\nloaded := true\n", '\nloaded := true\n\nx := http.send({"method": "get", "url": "http://a"})\n'),
            "http.send",
        ),
        ((RULES, 'deny("role_missing")', 'deny("role_mising")'), "code-undeclared"),
        (("aioc/lib/verdicts/verdicts.rego", "allow(code) :=", "allow(code) = "), "library-changed"),
    ],
)
def test_stale_routes_lint_findings_and_builtins_beyond_the_capabilities_are_refused(
    aioc: Command, policy: Path, tmp_path: Path, change: tuple[str, str, str], said: str
) -> None:
    file = policy / change[0]
    file.write_text(file.read_text().replace(change[1], change[2]))
    ran = build(aioc, policy, tmp_path / "b.tar.gz")
    assert ran.status == 3
    assert said in ran.err
    assert not (tmp_path / "b.tar.gz").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--minimum-counter", "8"), "minimumCounter is above counter"),
        (("--expires", "tomorrow"), "must be an RFC 3339 time"),
        (("--expires", "2020-01-01T00:00:00Z"), "expiresAt: 2020-01-01T00:00:00Z has passed"),
        (("--owner", "a\nb"), "an owner is one line of text"),
        (("--name", "Tools"), "bundle: name:"),
        (("--only", PACK, "--without", PACK), "not both"),
        (("--only", "/aioc/packs"), "is not a place below data"),
        (("--only", "nowhere"), "nothing of the policy lies in this part"),
        (("--only", "aioc/packs", "--only", PACK), "are parts of each other"),
    ],
)
def test_a_statement_or_a_part_that_cannot_be_is_refused(
    aioc: Command, made: Path, tmp_path: Path, *, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)  # another test's
    ran = build(aioc, made / "policy", tmp_path / "b.tar.gz", *arguments)
    assert (ran.status, said in ran.err) == (3, True), ran.err


def test_a_folder_with_a_manifest_and_a_file_that_cannot_be_written_are_refused(
    aioc: Command, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)
    ran = build(aioc, policy, Path("/proc/nowhere/b.tar.gz"))
    assert (ran.status, "cannot be written" in ran.err) == (3, True)
    (policy / ".manifest").write_text("{}")
    ran = build(aioc, policy, tmp_path / "b.tar.gz")
    assert (ran.status, "the build writes the manifest" in ran.err) == (3, True)


# -- sign, verify


def test_a_signed_bundle_is_verified_offline(aioc: Command, made: Path, signed: Path) -> None:
    ran = verify(aioc, made, signed)
    assert (ran.status, ran.document["ok"], failing(ran)) == (0, True, {})
    said = aioc("bundle", "verify", str(signed), "--public-key", str(made / "signing.pub.pem"), "--min-counter", "7")
    assert said.out.endswith("verified\n")
    assert "  ok    signature  OPA verifies it with the given key\n" in said.out


def test_every_change_to_a_signed_bundle_is_found(aioc: Command, made: Path, signed: Path, tmp_path: Path) -> None:
    rules = read_bundle(signed).files[RULES]
    manifest = json.loads(read_bundle(signed).files[MANIFEST])
    statement = manifest["metadata"]["aioc"]
    later = {"metadata": {"aioc": {**statement, "expiresAt": "2099-01-01T00:00:00Z"}}}
    counted = {"metadata": {"aioc": {**statement, "counter": 9}}, "revision": f"9-{statement['digest']}"}
    target = tmp_path / "x.tar.gz"
    for change, entries, where in (
        ({RULES: rules + b"\n"}, {}, "content"),
        ({RULES: None}, {}, "content"),
        ({DATA: b"{}"}, {}, "content"),
        ({"aioc/packs/evil/evil.rego": b"package aioc.packs.evil\n"}, {}, "content"),
        ({}, later, "signature"),
        ({}, counted, "signature"),
        ({}, {"revision": f"9-{statement['digest']}"}, "content"),
        ({}, {"metadata": {}}, "content"),
        ({}, {"roots": [""]}, "content"),
        ({SIGNATURES: None}, {}, "content"),
        ({SIGNATURES: b'{"signatures":[]}'}, {}, "signature"),
        ({"patch.json": b'{"data":[]}'}, {}, "content"),
    ):
        ran = verify(aioc, made, changed(signed, target, change, **entries))
        assert ran.status == 1
        assert where in failing(ran), (change, entries, ran.document)
    target.write_bytes(signed.read_bytes()[:-20])
    assert "content" in failing(verify(aioc, made, target))


def test_a_test_module_in_a_bundle_is_refused_for_opa_would_load_it(
    aioc: Command, made: Path, bundle: Path, tmp_path: Path
) -> None:
    hidden = {"aioc/packs/payments/zz_test.rego": b"package aioc.packs.payments\n\n_has_role := true\n"}
    other = changed(bundle, tmp_path / "other.tar.gz", hidden)
    for command in (("verify", "--unsigned", other), ("inspect", other), ("diff", bundle, other)):
        ran = aioc("bundle", *map(str, command))
        assert ran.status == (1 if command[0] == "verify" else 3)
        assert "OPA would load them" in ran.out + ran.err


def test_another_key_an_expired_bundle_and_a_low_counter_are_refused(
    aioc: Command, made: Path, signed: Path, tmp_path: Path
) -> None:
    _, other = signing_key(tmp_path, "other")
    wrong = aioc("bundle", "verify", str(signed), "--public-key", str(other), "--json")
    assert (wrong.status, list(failing(wrong))) == (1, ["signature"])
    late = aioc("bundle", "verify", str(signed), "--unsigned", "--at", "2030-01-01T00:00:00Z", "--json")
    assert failing(late) == {"expiry": "expired at 2030-01-01T00:00:00Z"}
    low = verify(aioc, made, signed, "--min-counter", "8")
    assert failing(low) == {"counter": "counter 7 is below the minimum 8"}


def test_a_bundle_accepted_before_refuses_a_rollback_and_withdraws_what_is_below_its_minimum(
    aioc: Command, bundle: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)
    newer, other, third = (tmp_path / f"{name}.tar.gz" for name in ("newer", "other", "third"))
    assert build(aioc, policy, newer, "--minimum-counter", "8", counter=9).status == 0

    def after(one: Path, earlier: object) -> Ran:
        return aioc("bundle", "verify", str(one), "--unsigned", "--after", str(earlier), "--json")

    assert failing(after(newer, bundle)) == {}
    assert "was withdrawn by 9, whose minimum is 8" in failing(after(bundle, newer))["counter"]
    assert build(aioc, policy, other, counter=8).status == 0
    assert "is a rollback: 9 was accepted before" in failing(after(other, newer))["counter"]
    assert build(aioc, policy, third, counter=9).status == 0
    assert "lowers the minimum from 8" in failing(after(third, newer))["counter"]
    for accepted in (read_bundle(newer).revision, f"tools={read_bundle(newer).revision}"):
        assert failing(after(newer, accepted)) == {}
        ran = after(other, accepted)
        assert (ran.status, "is a rollback: 9" in failing(ran)["counter"]) == (1, True)
    ran = after(newer, f"9-{'0' * 64}")
    assert (ran.status, "given to other content before" in failing(ran)["counter"]) == (1, True)
    ran = after(newer, f"other={read_bundle(newer).revision}")
    assert (ran.status, "nothing here follows it" in failing(ran)["counter"]) == (1, True)
    two = aioc("bundle", "verify", str(newer), str(other), "--unsigned", "--json", "--after", f"9-{'0' * 64}")
    assert (two.status, "as NAME=REVISION" in failing(two)["counter"]) == (1, True)
    assert after(newer, "=9-1").status == 3
    text = (policy / RULES).read_text()
    (policy / RULES).write_text(text.replace("lead", "leader"))
    assert build(aioc, policy, other, "--minimum-counter", "8", counter=9).status == 0
    assert "given to other content before" in failing(after(other, newer))["counter"]


def test_two_teams_bundles_are_verified_together_and_overlapping_roots_are_refused_in_preflight(
    aioc: Command, made: Path, signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioc_opa.packs.bundle_build.require_clean", lambda *_: None)
    parts = []
    for name, choice in (("platform", "--without"), ("payments", "--only")):
        plain, out = tmp_path / f"{name}.plain.tar.gz", tmp_path / f"{name}.tar.gz"
        assert build(aioc, made / "policy", plain, "--name", name, choice, PACK).status == 0
        assert aioc("bundle", "sign", str(plain), "--key", str(made / "signing.pem"), "-o", str(out)).status == 0
        parts.append(out)
    assert read_bundle(parts[1]).roots == (("aioc", "packs", "payments"),)
    both = verify(aioc, made, *parts)
    assert (both.status, failing(both)) == (0, {})
    alone = verify(aioc, made, parts[1])
    assert list(failing(alone)) == ["signature"]
    assert verify(aioc, made, parts[0]).document["together"][-1]["ok"] is None
    overlap = verify(aioc, made, signed, parts[1])
    assert "'tools' owns aioc, 'payments' owns aioc/packs/payments: roots overlap" in failing(overlap)["roots"]
    twice = verify(aioc, made, signed, signed)
    assert failing(twice)["roots"] != ""
    unsigned = aioc("bundle", "inspect", str(parts[1]), "--public-key", str(made / "signing.pub.pem"))
    assert (unsigned.status, "`bundle verify` verifies it beside the others" in unsigned.out) == (0, True)
    said = aioc("bundle", "verify", *map(str, parts), "--unsigned")
    assert "together\n" in said.out


def test_what_cannot_sign_is_refused(aioc: Command, made: Path, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.tar.gz"
    open_key = tmp_path / "open.pem"
    open_key.write_bytes((made / "signing.pem").read_bytes())
    open_key.chmod(0o644)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.touch(mode=0o600)

    def sign(key: Path, *arguments: str) -> Ran:
        return aioc("bundle", "sign", str(bundle), "--key", str(key), "-o", str(out), *arguments)

    assert "chmod 600" in sign(open_key).err
    assert "cannot be read" in sign(tmp_path / "none.pem").err
    assert "is not a file" in sign(tmp_path).err
    assert "opa sign refuses" in sign(nonsense).err
    assert "odd characters" in sign(made / "signing.pem", "--scope", "a b").err
    assert sign(made / "signing.pem", "--algorithm", "HS256").status == 2
    assert not out.exists()
    assert sign(made / "signing.pem", "--scope", "write").status == 0
    key = ("--public-key", str(made / "signing.pub.pem"))
    assert aioc("bundle", "verify", str(out), *key, "--scope", "write").status == 0
    assert aioc("bundle", "verify", str(out), *key, "--scope", "read").status == 1


def test_wrong_usage_of_verify(aioc: Command, made: Path, bundle: Path) -> None:
    key = ("--public-key", str(made / "signing.pub.pem"))
    assert aioc("bundle", "verify", str(bundle)).status == 2
    assert aioc("bundle", "verify", str(bundle), "--unsigned", *key).status == 2
    assert aioc("bundle", "verify", str(bundle), "--unsigned", "--scope", "x").status == 2
    assert aioc("bundle", "verify", str(bundle), *key, "--algorithm", "HS256").status == 2
    assert aioc("bundle", "verify", str(bundle), "--unsigned", "--at", "now").status == 2
    assert aioc("bundle", "verify", str(bundle), "--public-key", str(made / "none.pem")).status == 3


def test_a_private_key_in_place_of_the_public_one_is_refused_by_name_and_never_shown(
    aioc: Command, made: Path, signed: Path, tmp_path: Path
) -> None:
    private = made / "signing.pem"
    secret = private.read_text().splitlines()[1]
    both = tmp_path / "both.pem"
    both.write_text((made / "signing.pub.pem").read_text() + private.read_text())
    for command in ("verify", "inspect"):
        for file in (private, both):
            ran = aioc("bundle", command, str(signed), "--public-key", str(file))
            flat = "".join(character for character in ran.err if character not in "\n│ ")
            assert (ran.status, str(file) in flat, "holdsaPRIVATEkey" in flat) == (2, True, True), ran.err
            assert secret not in ran.out + ran.err
    for content in ("", "a shared secret", "x" * 70_000):
        both.write_text(content)
        ran = aioc("bundle", "verify", str(signed), "--public-key", str(both))
        assert (ran.status, "no PEM file of a public key" in " ".join(ran.err.replace("│", " ").split())) == (2, True)


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
