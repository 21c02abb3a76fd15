"""The OPA of a manifest as a plain process: its arguments, the configuration of a ConfigMap, and what would be mounted."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import requests
import trustme

from aioc_opa import OpaServerEngine, ToolGuard
from aioc_opa.bundle_freshness import FreshBundles
from aioc_opa.engines.opa_admin import OpaAdmin
from aioc_opa.revision_gates import AllOf, MinimumCounters
from tests.deployment.parts.part import Part
from tests.deployment.parts.pod import Mapped, containers, manifests, one, pod_of
from tests.deployment.parts.publisher import COUNTER
from tests.opa.bundle_server import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.deployment.parts.storage import ObjectStorage

AWS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-central-1"}


@dataclass(frozen=True)
class Site:
    """Where manifests are tried out."""

    manifests: Path
    folder: Path
    opa: Path
    public_key: Path
    storage: ObjectStorage


class Running:
    """One of them, not started yet."""

    def __init__(self, site: Site, name: str, config: str) -> None:
        container = containers(pod_of(site.manifests / f"{name}.yaml"))["opa"]
        self.mapped = Mapped(container, site.folder)
        self.storage = site.storage
        self.mapped.configuration(
            one(manifests(site.manifests / f"opa-config-{config}.yaml"), "ConfigMap"), self.nearer
        )
        (self.mapped.folders["/keys"] / "publisher.pem").write_bytes(site.public_key.read_bytes())
        self.ca_file = site.folder / "ca.pem"
        if "/tls" in self.mapped.folders:
            authority = trustme.CA()
            authority.cert_pem.write_to_path(self.ca_file)
            issued = authority.issue_cert("127.0.0.1")
            issued.cert_chain_pems[0].write_to_path(self.mapped.folders["/tls"] / "tls.crt")
            issued.private_key_pem.write_to_path(self.mapped.folders["/tls"] / "tls.key")
        arguments = [self.mapped.text(argument) for argument in container["args"]]
        self.part = Part(
            site.folder / "opa.log",
            ["env", "POD_NAME=opa-1", *(f"{k}={v}" for k, v in AWS.items()), site.opa, *arguments],
        )
        ((port, _),) = self.mapped.ports.items()
        self.port = self.mapped.ports[port]
        self.probes = {kind: container[f"{kind}Probe"] for kind in ("readiness", "liveness")}

    def nearer(self, document: dict[str, Any]) -> None:
        """The storage and its metadata server are here, and asked often."""
        service = document["services"]["bundles"]
        service["url"] = (
            f"{self.storage.url}/{service['url'].split('/', 3)[-1] if service['url'].count('/') > 2 else ''}"
        )
        credentials = service["credentials"]
        if "s3_signing" in credentials:  # the token service of AWS is not here: keys from the environment sign, too
            credentials["s3_signing"] = {"environment_credentials": {}}
        for given in ("gcp_metadata", "azure_managed_identity"):
            if given in credentials:
                credentials[given]["endpoint"] = f"{self.storage.url}/token"
        document["bundles"]["tools"]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}

    @property
    def url(self) -> str:
        socket = self.mapped.folders.get("/run/opa")
        return f"https://127.0.0.1:{self.port}" if socket is None else f"unix:{socket / 'opa.sock'}"

    @property
    def options(self) -> dict[str, Any]:
        return {"ca_file": self.ca_file} if self.url.startswith("https:") else {}

    def ready(self) -> bool:
        """What the kubelet finds."""
        probe = self.probes["readiness"]["httpGet"]
        assert (probe.get("scheme") == "HTTPS") == self.url.startswith("https:")
        return self.ask(probe["path"]) == HTTPStatus.OK

    def ask(self, path: str, token: str | None = None) -> int | None:
        """The status of the TCP port's answer; None while nobody listens."""
        answer = self._answer(path, token)
        return None if answer is None else answer.status_code

    def metrics(self, token: str) -> str:
        """What its TCP port says of itself; empty while nobody listens."""
        answer = self._answer("/metrics", token)
        return "" if answer is None else answer.text

    def _answer(self, path: str, token: str | None) -> requests.Response | None:
        scheme, verify = ("https", str(self.ca_file)) if self.url.startswith("https:") else ("http", None)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            return requests.get(f"{scheme}://127.0.0.1:{self.port}{path}", timeout=5, verify=verify, headers=headers)
        except requests.RequestException:
            return None

    def decides(self, token_file: Path) -> str:
        """What a guard is told, whose gate asks for a counter and an age."""

        def connect() -> OpaAdmin:
            return OpaAdmin(self.url, token_file=token_file, **self.options)

        with (
            OpaServerEngine(self.url, token_file=token_file, **self.options) as engine,
            FreshBundles(connect, bundles=["tools"], max_age_seconds=300, refresh_seconds=0.1) as fresh,
        ):
            until(lambda: fresh.refresh() == ())
            guard = ToolGuard(engine, revision_gate=AllOf(fresh, MinimumCounters({"tools": COUNTER})))
            guard.register_json_schema("nobody_owns_this", {"type": "object"}, lambda _: None)
            assert guard.check().rule == "data.aioc.tool_policy.decision"
            return str(guard.authorize("nobody_owns_this", "{}", agent_name="a").code)  # type: ignore[union-attr]
