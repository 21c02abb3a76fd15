"""A publisher of bundles, and a real OPA that polls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import requests

from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed
from aioc_opa.packs.bundle_build import BuiltBundle, BundleTerms, build_bundle
from aioc_opa.packs.bundle_parts import WHOLE, Part
from aioc_opa.packs.bundle_sign import sign_bundle
from tests.opa.bundle_server import opa_configuration
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
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


def asked(opa: OpaProcess, gate: RevisionGate) -> tuple[str, str | None]:
    """Reason and revision of a call that this policy allows."""
    with OpaServerEngine(opa.url) as engine:
        guard = ToolGuard(engine, revision_gate=gate)
        guard.register_json_schema("calculate", {"type": "object"}, lambda _: None)
        outcome = guard.authorize("calculate", "{}", agent_name="agent")
        return "allowed" if isinstance(outcome, Allowed) else outcome.code, outcome.policy_revision
