"""Bundles on a real OPA that polls a server of static files: what is activated, what is not, and what a guard sees."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import requests

from aioc_opa.bundle_expiry import UnexpiredRevisions
from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.local_opa_signature import BundleVerification
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_build import BundleTerms, build_bundle
from aioc_opa.packs.bundle_sign import sign_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.lint.linted import run_opa
from aioc_opa.revision_gates import AllOf, MinimumCounters, NamedRevisions
from tests.opa.bundle_server import BundleServer, signing_key, until

if TYPE_CHECKING:
    from pathlib import Path

from tests.opa.bundle_server_cases import Publisher, active, asked, running, status


def test_a_good_update_is_taken_and_an_old_bundle_served_again_is_rejected_by_the_guard(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    gate = MinimumCounters({"tools": 7})
    with running(publisher, tmp_path, served.port, "tools") as opa:
        until(lambda: active(opa) == 7)
        reason, revision = asked(opa, gate)
        assert reason == "allowed"
        assert revision == json.dumps({"tools": str(publisher.built("tools", 7).revision)}, separators=(",", ":"))
        named = NamedRevisions({"tools": [str(publisher.built("tools", 7).revision)]})
        assert asked(opa, named)[0] == "allowed"

        served.put("tools.tar.gz", publisher.signed("tools", 8))
        until(lambda: active(opa) == 8)
        assert asked(opa, gate)[0] == "allowed"
        assert asked(opa, named)[0] == "policy_revision_rejected"

        # OPA takes the older one, well signed: its signing has no anti-rollback.
        served.put("tools.tar.gz", publisher.signed("tools", 7))
        until(lambda: active(opa) == 7)
        assert asked(opa, gate)[0] == "policy_revision_rejected"
        served.put("tools.tar.gz", publisher.signed("tools", 6))
        until(lambda: active(opa) == 6)
        assert asked(opa, MinimumCounters({"tools": 7}))[0] == "policy_revision_rejected"


def test_a_bundle_that_has_expired_is_rejected_by_the_guard_while_opa_still_serves_it(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    """OPA's signing has no expiry: it takes the bundle, and keeps it."""
    plain, signed = tmp_path / "plain.tar.gz", tmp_path / "signed.tar.gz"
    terms = BundleTerms(name="tools", counter=7, owners=["payments team"], expires_at="2099-01-01T00:00:00Z")
    plain.write_bytes(build_bundle(publisher.policy, terms, opa_binary=publisher.opa, checked=True).archive)
    signed.write_bytes(sign_bundle(plain, key_file=publisher.key, opa_binary=publisher.opa))
    key, binary = BundleVerification(public_key_file=publisher.public_key), find_opa_binary(publisher.opa)
    now = [datetime(2098, 12, 31, tzinfo=UTC)]
    gate = UnexpiredRevisions.verified([signed], signature=key, binary=binary, clock=lambda: now[0])
    served.put("tools.tar.gz", signed.read_bytes())
    with running(publisher, tmp_path, served.port, "tools") as opa:
        until(lambda: active(opa) == 7)
        assert asked(opa, AllOf(gate, MinimumCounters({"tools": 7})))[0] == "allowed"
        now[0] = datetime(2099, 1, 1, tzinfo=UTC)
        assert asked(opa, gate)[0] == "policy_revision_rejected"
        assert active(opa) == 7
    with pytest.raises(PolicyLoadError, match="expiry: expired at"):
        UnexpiredRevisions.verified([signed], signature=key, binary=binary, clock=lambda: now[0])
    with pytest.raises(PolicyLoadError, match="is not signed"):
        UnexpiredRevisions.verified([plain], signature=key, binary=binary)


def test_a_signed_bundle_that_opa_cannot_activate_does_not_keep_the_old_one_fresh(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    """OPA counts it as a successful request, each time that it fetches it again."""
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    with (
        running(publisher, tmp_path, served.port, "tools") as opa,
        FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=3, refresh_seconds=0.1) as fresh,
    ):
        until(lambda: asked(opa, fresh)[0] == "allowed")
        served.put("tools.tar.gz", not_compiling(publisher, tmp_path))
        until(lambda: any("while compiling" in problem for problem in fresh.problems))
        until(lambda: asked(opa, fresh)[0] == "policy_revision_rejected")
        found = status(opa)
        assert found["last_successful_request"] > found["last_successful_activation"]
        assert asked(opa, MinimumCounters({"tools": 7}))[0] == "allowed"


def not_compiling(publisher: Publisher, folder: Path) -> bytes:
    rules = b"package aioc.tool_policy\n\ndecision := data.nothing.there(1)\n"
    manifest = json.dumps({"revision": "8-" + "0" * 64, "roots": ["aioc"]}).encode()
    files = {".manifest": manifest, "x.rego": rules}
    (folder / "unsigned.tar.gz").write_bytes(bundle_archive(files))
    arguments = [
        "sign",
        f"--signing-key={publisher.key}",
        f"--output-file-path={folder}",
        "--bundle",
        "unsigned.tar.gz",
    ]
    run_opa(publisher.opa, *arguments, cwd=folder)
    return bundle_archive({**files, ".signatures.json": (folder / ".signatures.json").read_bytes()})


def delta() -> bytes:
    stream = io.BytesIO()
    content = {
        ".manifest": {"revision": "9-" + "0" * 64, "roots": ["aioc"]},
        "patch.json": {"data": [{"op": "upsert", "path": "/aioc/lib/approval_defaults", "value": {}}]},
    }
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, document in content.items():
            text = json.dumps(document).encode()
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def test_a_bad_signature_a_truncated_bundle_and_a_delta_leave_the_old_policy_and_raise_an_alarm(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    good = publisher.signed("tools", 7)
    other_key, _ = signing_key(publisher.folder, "other")
    forged = publisher.signed("tools", 8, key=other_key)
    unsigned = publisher.built("tools", 8).archive
    served.put("tools.tar.gz", good)
    with (
        running(publisher, tmp_path, served.port, "tools") as opa,
        FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=60, refresh_seconds=0.1) as fresh,
    ):
        until(lambda: active(opa) == 7)
        until(lambda: not fresh.problems)
        gate = AllOf(fresh, MinimumCounters({"tools": 7}))
        for bad, words in (
            (forged, "verification error"),
            (unsigned, "signatures"),
            (publisher.signed("tools", 8)[:4000], "unexpected EOF"),
            (delta(), "delta bundles do not support signature verification"),
        ):
            served.put("tools.tar.gz", bad)
            until(lambda words=words: any(words in problem for problem in fresh.problems))
            assert active(opa) == 7
            assert status(opa)["code"] == "bundle_error"
            assert asked(opa, gate)[0] == "allowed"
        served.put("tools.tar.gz", publisher.signed("tools", 9))
        until(lambda: active(opa) == 9 and not fresh.problems)
        assert asked(opa, gate)[0] == "allowed"


def test_without_a_bundle_server_at_the_start_every_call_is_denied_until_the_bundle_is_there(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    served.stop()
    with (
        running(publisher, tmp_path, served.port, "tools") as opa,
        FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=60, refresh_seconds=0.1) as fresh,
    ):
        until(lambda: status(opa).get("code") == "bundle_error")
        assert asked(opa, fresh)[0] == "policy_undefined"
        assert not requests.get(f"{opa.url}/health?bundles", timeout=5).ok
        served.start()
        until(lambda: active(opa) == 7)
        until(lambda: not fresh.problems)
        assert asked(opa, fresh)[0] == "allowed"


def test_a_bundle_that_is_not_fetched_again_grows_too_old(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    with (
        running(publisher, tmp_path, served.port, "tools") as opa,
        FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=4, refresh_seconds=0.1) as fresh,
    ):
        until(lambda: asked(opa, fresh)[0] == "allowed")
        served.stop()
        until(lambda: asked(opa, fresh)[0] == "policy_revision_rejected")
        assert asked(opa, MinimumCounters({"tools": 7}))[0] == "allowed"
        until(lambda: any("was last fetched more than" in problem for problem in fresh.problems))
        assert any("connection refused" in problem for problem in fresh.problems)
        served.start()
        until(lambda: asked(opa, fresh)[0] == "allowed")
