"""The profile `bundles` of docker-compose.yml, run as plain processes (`signed_opa`), with a guard that has a token."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import OpaServerEngine, ToolGuard
from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.revision_gates import AllOf, MinimumCounters
from tests.deployment.signed_opa import SignedOpa
from tests.opa.bundle_server import signing_key

if TYPE_CHECKING:
    from collections.abc import Iterator

AIOC = Path(sys.executable).parent / "aioc-opa"


@pytest.fixture(scope="module")
def signed(
    opa_binary: Path, compose: dict[str, Any], repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SignedOpa]:
    folder = tmp_path_factory.mktemp("s")
    with SignedOpa(repository, folder, opa_binary, compose["services"]["opa-signed"], prepare=True) as made:
        yield made


def test_a_guard_with_its_token_works_under_a_gate_and_an_update_comes_by_itself(signed: SignedOpa) -> None:
    token = (signed.run / "guard-token").read_text()
    fresh = FreshBundles(lambda: OpaAdmin(signed.opa.url, token=token), bundles=["tools"], max_age_seconds=60)
    with fresh, OpaServerEngine(signed.opa.url, token=token) as engine:
        fresh.refresh()
        guard = ToolGuard(engine, revision_gate=AllOf(fresh, MinimumCounters({"tools": 1}, remember=False)))
        guard.register_json_schema("think", {"type": "object"}, lambda _arguments: "")
        assert (guard.check().policy_revision or "").startswith('{"tools":"1-')
        signed.publish(2)
        signed.until(lambda: signed.bundle()["active_revision"].startswith("2-"))
        assert (guard.check().policy_revision or "").startswith('{"tools":"2-')


def test_nobody_is_answered_without_a_token_and_metrics_are_the_operators(signed: SignedOpa) -> None:
    decision = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true"
    assert signed.ask(None, "POST", decision, {"input": {}}).status_code == 401
    assert signed.ask("guard", "POST", decision, {"input": {}}).status_code == 200
    assert [signed.ask(who, "GET", "/metrics").status_code for who in (None, "guard", "operator")] == [401, 401, 200]


def test_doctor_finds_nothing_to_say_against_it(signed: SignedOpa) -> None:
    command = [AIOC, "doctor", "--opa", signed.opa.url, "--opa-config", signed.config, "--json"]
    ran = subprocess.run(
        [*command, "--token-file", signed.run / "guard-token"], capture_output=True, text=True, check=False
    )
    found = {each["topic"]: each["ok"] for each in json.loads(ran.stdout)["findings"]}
    assert ran.returncode == 0, ran.stdout
    for topic in ("version", "way", "clock", "policy API", "bundle tools", "signatures"):
        assert found[topic] is True, topic


def test_a_bundle_of_another_key_is_not_taken_and_is_counted(signed: SignedOpa, tmp_path: Path) -> None:
    good = (signed.run / "bundles" / "tools.tar.gz").read_bytes()
    before = signed.bundle()["active_revision"]
    signed.publish(9, signing_key(tmp_path)[0])
    signed.until(lambda: 'bundle_failed_load_counter{code="bundle_error"' in signed.metrics())
    assert signed.bundle()["active_revision"] == before
    signed.bundles.put("tools.tar.gz", good)
    signed.until(lambda: not signed.bundle().get("code"))


def test_a_restart_without_the_bundle_server_decides_by_the_bundle_that_was_kept(signed: SignedOpa) -> None:
    before = signed.bundle()["active_revision"]
    signed.until(lambda: bool(list((signed.run / "persisted").rglob("bundle.tar.gz"))))
    signed.bundles.stop()
    try:
        signed.opa.restart()
        signed.until(signed.is_ready)
        assert signed.bundle()["active_revision"] == before
    finally:
        signed.bundles.start()


def test_before_the_first_bundle_nobody_is_told_anything(signed: SignedOpa) -> None:
    good = (signed.run / "bundles" / "tools.tar.gz").read_bytes()
    signed.opa.stop()
    shutil.rmtree(signed.run / "persisted")
    (signed.run / "bundles" / "tools.tar.gz").unlink()
    try:
        signed.opa.start()
        for who in (None, "guard", "operator"):
            for method, target in (
                ("GET", "/health?bundles"), ("POST", "/v1/data"), ("GET", "/v1/policies"), ("PUT", "/v1/data/x"),
                ("GET", "/metrics"), ("GET", "/v1/status"), ("GET", "/v1/config"),
            ):  # fmt: skip
                assert signed.ask(who, method, target, {}).status_code >= 400, target
    finally:
        signed.bundles.put("tools.tar.gz", good)
        signed.until(signed.is_ready)
