"""The reason codes that a policy's packs declare: what audit and telemetry may call by name (`core.audit.labels`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.packs.pack_manifest import read_manifests

if TYPE_CHECKING:
    from aioc_opa.packs.policy_folder import LoadedPolicy

_PACKS = ("aioc", "packs")


def declared_codes(policy: LoadedPolicy) -> frozenset[str]:
    """Every code in the manifests of the packs of `policy`; none when it has no packs.

    For a guard that asks an OPA elsewhere, which cannot say what its policy declares::

        ToolGuard(OpaServerEngine(…), audit=trail, audit_codes=declared_codes(load_policy(Path("my-policy"))))

    Raises:
        PolicyLoadError: a manifest is missing or invalid; not with a policy that `load_policy` has checked.
    """
    paths = [tuple(name.split("/")) for name in policy.modules]
    packs = frozenset(path[2] for path in paths if path[:2] == _PACKS)
    if not packs:
        return frozenset()
    manifests = read_manifests("policy", policy.data, packs)
    return frozenset().union(*(manifest.codes for manifest in manifests.values()))
