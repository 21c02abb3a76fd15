"""Two teams' bundles, roots, and what is put beside a bundle, on a real OPA."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import requests

from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_file import read_bundle
from aioc_opa.packs.bundle_parts import Part
from aioc_opa.packs.bundle_writer import bundle_archive
from aioc_opa.packs.lint.linted import run_opa
from aioc_opa.packs.policy_files import MANIFEST, SIGNATURES
from aioc_opa.revision_gate import UnsafeAnyRevision
from aioc_opa.revision_gates import MinimumCounters, NamedRevisions
from tests.opa.bundle_server import BundleServer, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.opa_process import OpaProcess
from tests.opa.bundle_server_cases import Publisher, active, asked, running, status


def said(opa: OpaProcess, name: str) -> str:
    found = status(opa, name)
    return f"{found.get('message', '')} {found.get('errors', '')}"


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
