"""Bundles on a real OPA that polls a server of static files: what is activated, what is not, and what a guard sees."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import requests

from aioc_opa.bundle_expiry import UnexpiredRevisions
from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.local_opa_signature import BundleVerification
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.errors import PolicyLoadError
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed
from aioc_opa.packs.bundle_build import BuiltBundle, BundleTerms, build_bundle
from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_parts import WHOLE, Part
from aioc_opa.packs.bundle_sign import sign_bundle
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.lint.linted import run_opa
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES
from aioc_opa.revision_gate import UnsafeAnyRevision
from aioc_opa.revision_gates import AllOf, MinimumCounters, NamedRevisions
from tests.conftest import ROOT
from tests.opa.bundle_server import BundleServer, opa_configuration, signing_key, until
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.revision_gate import RevisionGate


@dataclass(frozen=True)
class Publisher:
    """Builds and signs bundles of one small policy."""

    folder: Path
    policy: Path
    opa: Path
    key: Path
    public_key: Path

    def built(self, name: str, counter: int, part: Part = WHOLE) -> BuiltBundle:
        terms = BundleTerms(name=name, counter=counter, owners=["payments team"])
        return build_bundle(self.policy, terms, opa_binary=self.opa, part=part, checked=True)

    def signed(self, name: str, counter: int, part: Part = WHOLE, key: Path | None = None) -> bytes:
        file = self.folder / f"{name}-{counter}.tar.gz"
        file.write_bytes(self.built(name, counter, part).archive)
        return sign_bundle(file, key_file=key or self.key, opa_binary=self.opa)


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Publisher:
    folder = tmp_path_factory.mktemp("publisher")
    policy = folder / "policy"
    shutil.copytree(ROOT / "rego" / "aioc", policy / "aioc", ignore=shutil.ignore_patterns("*_test.rego", "samples"))
    return Publisher(folder, policy, opa_binary, *signing_key(folder))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[BundleServer]:
    with BundleServer(tmp_path / "served") as server:
        yield server


def running(publisher: Publisher, tmp_path: Path, port: int, *bundles: str) -> OpaProcess:
    arguments = opa_configuration(tmp_path, port, bundles, publisher.public_key)
    return OpaProcess(publisher.opa, tmp_path, arguments=arguments)


def status(opa: OpaProcess, name: str = "tools") -> dict[str, Any]:
    answer = requests.get(f"{opa.url}/v1/status", timeout=5).json()["result"]
    found: dict[str, Any] = answer.get("bundles", {}).get(name, {})  # none before the first fetch has ended
    return found


def active(opa: OpaProcess, name: str = "tools") -> int | None:
    revision = status(opa, name).get("active_revision")
    return None if revision is None else int(revision.partition("-")[0])


def said(opa: OpaProcess, name: str) -> str:
    found = status(opa, name)
    return f"{found.get('message', '')} {found.get('errors', '')}"


def asked(opa: OpaProcess, gate: RevisionGate) -> tuple[str, str | None]:
    """Reason and revision of a call that this policy allows."""
    with OpaServerEngine(opa.url) as engine:
        guard = ToolGuard(engine, revision_gate=gate)
        guard.register_json_schema("calculate", {"type": "object"}, lambda _: None)
        outcome = guard.authorize("calculate", "{}", agent_name="agent")
        return "allowed" if isinstance(outcome, Allowed) else outcome.code, outcome.policy_revision


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


def test_two_teams_bundles_with_disjoint_roots_decide_together_and_an_unexpected_one_is_rejected(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("platform.tar.gz", publisher.signed("platform", 3, Part(without=["aioc/packs/airline"])))
    served.put("airline.tar.gz", publisher.signed("airline", 5, Part(only=["aioc/packs/airline"])))
    both = MinimumCounters({"platform": 3, "airline": 5})
    with running(publisher, tmp_path, served.port, "platform", "airline") as opa:
        until(lambda: active(opa, "platform") == 3 and active(opa, "airline") == 5)
        assert asked(opa, both)[0] == "allowed"
        assert asked(opa, MinimumCounters({"platform": 3}))[0] == "policy_revision_rejected"
        with FreshBundles(lambda: OpaAdmin(opa.url), bundles=["platform"], max_age_seconds=60) as fresh:
            assert fresh.refresh() == ("bundle 'airline' is at the server and was not expected",)
        with FreshBundles(lambda: OpaAdmin(opa.url), bundles=["platform", "airline", "third"], max_age_seconds=60) as f:
            assert f.refresh() == ("bundle 'third' is not at the server",)


def revisionless(publisher: Publisher) -> bytes:
    """A well-signed bundle of the same policy that has no revision: `bundle sign` refuses it, `opa sign` does not."""
    place = publisher.folder / "revisionless"
    place.mkdir()
    signed = publisher.folder / "named.tar.gz"
    signed.write_bytes(publisher.built("tools", 7).archive)
    files = dict(read_bundle(signed).files)
    files[MANIFEST] = json.dumps({"roots": json.loads(files[MANIFEST])["roots"], "rego_version": 1}).encode()
    (place / "b.tar.gz").write_bytes(bundle_archive(files))
    key = f"--signing-key={publisher.key}"
    done = run_opa(publisher.opa, "sign", key, "--signing-alg=RS256", "--bundle", "b.tar.gz", cwd=place)
    assert done.returncode == 0, done.stderr
    return bundle_archive({**files, SIGNATURES: (place / SIGNATURES).read_bytes()})


def test_a_bundle_without_a_revision_and_one_that_is_missing_are_rejected_by_every_gate_with_names(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("tools.tar.gz", revisionless(publisher))
    with running(publisher, tmp_path, served.port, "tools") as opa:
        until(lambda: status(opa).get("last_successful_activation", "0001").startswith("2"))
        assert asked(opa, UnsafeAnyRevision()) == ("allowed", None)
        named = NamedRevisions({"tools": [str(publisher.built("tools", 7).revision)]})
        for gate in (MinimumCounters({"tools": 0}), named):
            assert asked(opa, gate)[0] == "policy_revision_rejected"
        with FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=60) as fresh:
            fresh.refresh()
            assert asked(opa, fresh)[0] == "policy_revision_rejected"
        served.put("tools.tar.gz", publisher.signed("tools", 7))
        until(lambda: active(opa) == 7)
        assert asked(opa, MinimumCounters({"tools": 7}))[0] == "allowed"
        assert asked(opa, MinimumCounters({"tools": 7, "airline": 0}))[0] == "policy_revision_rejected"


def test_one_teams_bundle_alone_decides_nothing(publisher: Publisher, served: BundleServer, tmp_path: Path) -> None:
    served.put("platform.tar.gz", publisher.signed("platform", 3, Part(without=["aioc/packs/airline"])))
    with running(publisher, tmp_path, served.port, "platform") as opa:
        until(lambda: active(opa, "platform") == 3)
        assert asked(opa, MinimumCounters({"platform": 3}))[0] == "data_missing"


def test_what_is_put_over_the_api_beside_a_bundle(publisher: Publisher, served: BundleServer, tmp_path: Path) -> None:
    """OPA itself refuses what lies below a root; a module elsewhere is listed; data elsewhere is seen nowhere."""
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    with running(publisher, tmp_path, served.port, "tools") as opa, OpaAdmin(opa.url) as admin:
        until(lambda: active(opa) == 7)
        for module in ("package aioc.routes\n\nallow contains 1", "package aioc.packs.airline\n\nallow contains 1"):
            with pytest.raises(PolicyLoadError, match="owned by bundle"):
                admin.put_policy("evil", module)
        for path in ("aioc/lib/approval_defaults", "aioc/packs/airline/limits", "aioc/owners/calculate"):
            response = requests.put(f"{opa.url}/v1/data/{path}", json={}, timeout=5)
            assert "owned by bundle" in response.json()["message"]
        with FreshBundles(lambda: OpaAdmin(opa.url), bundles=["tools"], max_age_seconds=60, policies=True) as fresh:
            assert fresh.refresh() == ()
            assert asked(opa, fresh)[0] == "allowed"
            admin.put_data("elsewhere", {"a": 1})
            assert fresh.refresh() == ()
            admin.put_policy("beside", "package elsewhere2\n\nx := 1\n")
            assert fresh.refresh() == ("policy 'beside' is at the server, and no bundle brought it",)
            assert asked(opa, fresh)[0] == "policy_revision_rejected"


def test_overlapping_roots_are_what_opa_refuses_and_the_preflight_says_so_before(
    publisher: Publisher, served: BundleServer, tmp_path: Path
) -> None:
    served.put("tools.tar.gz", publisher.signed("tools", 7))
    served.put("airline.tar.gz", publisher.signed("airline", 5, Part(only=["aioc/packs/airline"])))
    with running(publisher, tmp_path, served.port, "tools", "airline") as opa:
        words = until(lambda: [w for w in (said(opa, "tools"), said(opa, "airline")) if "overlap" in w])
        assert "airline" in words[0]
