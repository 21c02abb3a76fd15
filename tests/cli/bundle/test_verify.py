"""bundle sign and verify."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aioc_opa.packs.bundle_file import DATA, read_bundle
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES
from tests.opa.bundle_server import signing_key

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.conftest import Command, Ran
from tests.cli.bundle.bundle_cases import PACK, RULES, build, changed


def verify(aioc: Command, made: Path, *arguments: object) -> Ran:
    key = ("--public-key", str(made / "signing.pub.pem"))
    return aioc("bundle", "verify", *map(str, arguments), *key, "--at", "2027-01-01T00:00:00Z", "--json")


def failing(ran: Ran) -> dict[str, str]:
    checks = [check for each in ran.document["bundles"] for check in each["checks"]] + ran.document["together"]
    return {check["check"]: check["text"] for check in checks if check["ok"] is False}


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
    late = aioc("bundle", "verify", str(signed), "--unsigned", "--at", "2230-01-01T00:00:00Z", "--json")
    assert failing(late) == {"expiry": "expired at 2230-01-01T00:00:00Z"}
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


def test_a_file_that_is_not_there_cannot_be_used_and_one_that_is_no_bundle_does_not_verify(
    aioc: Command, made: Path, signed: Path, tmp_path: Path
) -> None:
    missing = aioc("bundle", "verify", str(signed), str(tmp_path / "none.tar.gz"), "--unsigned")
    assert missing.status == 3
    assert missing.err == f"aioc-opa: {tmp_path / 'none.tar.gz'}: no such bundle (a .tar.gz file)\n"
    (tmp_path / "text.tar.gz").write_text("no archive")
    assert verify(aioc, made, tmp_path / "text.tar.gz").status == 1
