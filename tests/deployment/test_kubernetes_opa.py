"""deploy/kubernetes: a real OPA starts with these arguments and configurations, fetches from object storage and decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from aioc_opa import OpaServerEngine, ToolGuard
from aioc_opa.revision_gates import MinimumCounters
from tests.deployment.parts.opa_of_manifest import Running, Site
from tests.deployment.parts.publisher import COUNTER, GUARD_TOKEN, OPERATOR_TOKEN, signed_bundle
from tests.deployment.parts.storage import TOKEN, ObjectStorage
from tests.opa.bundle_server import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def bundle_metrics(alerts: str) -> set[str]:
    """OPA's metrics of bundles that alerts ask for, and that are there before anything has failed."""
    asked = "".join(line for line in alerts.splitlines() if " expr: " in line)
    found = {name for name in re.findall(r"[a-z_]*bundle[a-z_]+", asked) if "failed" not in name}
    assert found
    return found


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> tuple[bytes, Path]:
    """A signed bundle and the file of the public key."""
    signed, public_key = signed_bundle(tmp_path_factory.mktemp("publisher"), opa_binary)
    return signed.read_bytes(), public_key


@pytest.fixture
def site(published: tuple[bytes, Path], opa_binary: Path, repository: Path, tmp_path: Path) -> Iterator[Site]:
    with ObjectStorage(published[0]) as storage:
        yield Site(repository / "deploy" / "kubernetes", tmp_path, opa_binary, published[1], storage)


@pytest.mark.parametrize(("name", "config"), [("sidecar", "s3"), ("shared-service", "gcs"), ("sidecar", "azure")])
def test_a_real_opa_starts_with_it_fetches_its_bundle_with_its_credentials_and_decides(
    site: Site, name: str, config: str
) -> None:
    opa = Running(site, name, config)
    (site.folder / "token").write_text(GUARD_TOKEN)
    opa.part.start()
    try:
        until(opa.ready)
        assert opa.decides(site.folder / "token") == "no_rule_allows"
        assert {opa.ask(path, OPERATOR_TOKEN) for path in ("/v1/data", "/v1/policies", "/v1/config")} <= {401, 404}
        assert (opa.ask("/metrics", OPERATOR_TOKEN), opa.ask("/metrics", GUARD_TOKEN)) == (200, 401)
        for needed in bundle_metrics((site.manifests.parent / "prometheus" / "alerts.yml").read_text()):
            until(lambda needed=needed: f"# TYPE {needed} " in opa.metrics(OPERATOR_TOKEN))
        path, headers = opa.storage.objects()[0]
        assert path == {"s3": "/tools.tar.gz", "gcs": "/storage/v1/b/example-bundles/o/tools.tar.gz?alt=media"}.get(
            config, "/bundles/tools.tar.gz"
        )
        assert_credentials(config, headers)
        # A restart without the storage, also over the socket that was left behind: the last bundle decides.
        until((opa.mapped.folders["/var/opa"] / "bundles" / "tools" / "bundle.tar.gz").exists)
        opa.storage.content = b""
        opa.part.kill()
        opa.part.start()
        until(opa.ready)
        with OpaServerEngine(opa.url, token_file=site.folder / "token", **opa.options) as engine:
            guard = ToolGuard(engine, revision_gate=MinimumCounters({"tools": COUNTER}))
            guard.register_json_schema("x", {"type": "object"}, lambda _: None)
            assert guard.authorize("x", "{}", agent_name="a").code == "no_rule_allows"
        if name == "sidecar":
            assert (opa.mapped.folders["/run/opa"] / "opa.sock").stat().st_mode & 0o777 == 0o660
    finally:
        opa.part.end()
    assert '"pod":"opa-1"' in opa.part.log.read_text()


def assert_credentials(config: str, headers: Mapping[str, str]) -> None:
    if config == "s3":
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    else:
        assert headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("name", ["shared-service", "sidecar"])
def test_before_the_first_bundle_it_is_alive_and_not_ready(site: Site, name: str) -> None:
    storage = site.storage
    storage.content = b"no bundle"
    opa = Running(site, name, "s3")
    opa.part.start()
    try:
        until(lambda: storage.objects() and "Bundle load failed" in opa.part.log.read_text())
        # A liveness probe by HTTP would have it started anew, again and again: even its health is refused now.
        assert until(lambda: opa.ask("/health", GUARD_TOKEN)) == 500
        assert opa.probes["liveness"].keys() == {"tcpSocket", "periodSeconds"}
        assert not opa.ready()
    finally:
        opa.part.end()
