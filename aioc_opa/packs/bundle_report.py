"""What an auditor reads in a bundle, as one JSON document (`aioc-opa bundle inspect --json`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.bundles.data_changes import path_text
from aioc_opa.packs.bundle_builtins import builtins_used
from aioc_opa.packs.bundle_outcomes import approval_asks, tool_outcomes
from aioc_opa.packs.bundle_parsed import MORE, is_entrypoint, table_digest
from aioc_opa.packs.routes_data import namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.bundle_checks import BundleCheck
    from aioc_opa.packs.bundle_outcomes import ApprovalAsk, ToolOutcomes
    from aioc_opa.packs.bundle_parsed import ParsedBundle
    from aioc_opa.packs.bundle_rules import ParsedRule
    from aioc_opa.packs.pack_manifest import PackManifest


def bundle_document(parsed: ParsedBundle, *, signature: BundleCheck) -> JsonObject:
    """The document.

    Args:
        parsed: the bundle.
        signature: what is known of its signature.
    """
    bundle = parsed.bundle
    return {
        "bundle": bundle.statement.model_dump(mode="json", by_alias=True),
        "revision": str(bundle.revision),
        "archiveSha256": bundle.archive_sha256,
        "roots": ["/".join(root) for root in bundle.roots],
        "signature": {"present": bundle.is_signed, "verified": signature.ok, "text": signature.text},
        "packages": [_package(parsed, name, metadata) for name, metadata in parsed.packages.items()],
        "entrypoints": [
            *(f"{rule.package}.{rule.name}" for rule in parsed.rules if is_entrypoint(rule.metadata)),
            *(package for package, metadata in parsed.packages.items() if is_entrypoint(metadata)),
        ],
        "imports": [{"file": file, "imports": [*texts]} for file, texts in parsed.imports.items()],
        "rules": [_rule(rule) for rule in parsed.rules],
        "packs": [_pack(parsed, manifest) for _, manifest in sorted(parsed.policy.manifests.items())],
        "tools": {tool: outcomes_document(found) for tool, found in tool_outcomes(parsed).items()},
        "approvals": [approval_document(ask) for ask in approval_asks(parsed)],
        "builtins": [{"name": name, "kind": kind} for name, kind in builtins_used(parsed.policy).items()],
        "dataTables": [
            {"path": path_text(path), "entries": _entries(value), "sha256": table_digest(value)}
            for path, value in data_tables(parsed)
        ],
    }


def outcomes_document(found: ToolOutcomes) -> JsonObject:
    """What can come of one tool's calls."""
    return {
        "owner": found.owner,
        "governedBy": [*sorted(found.governed_by)],
        "deny": [*sorted(found.deny)],
        "approval_required": [*sorted(found.require_approval)],
        "allow": [*sorted(found.allow)],
    }


def data_tables(parsed: ParsedBundle) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """The data beside rules: each key below a package's namespace, manifests of packs left out."""
    above = namespaces(module.package for module in parsed.policy.modules.values())
    manifests = {("aioc", "packs", pack, "manifest") for pack in parsed.policy.manifests}
    yield from ((path, value) for path, value in _tables(parsed.bundle.data, above, ()) if path not in manifests)


def _tables(
    value: JsonObject, above: frozenset[tuple[str, ...]], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    for key, below in value.items():
        here = (*path, key)
        if here in above and isinstance(below, dict):
            yield from _tables(below, above, here)
        else:
            yield here, below


def _entries(value: JsonValue) -> int:
    return len(value) if isinstance(value, dict | list) else 1


def _package(parsed: ParsedBundle, name: str, metadata: JsonObject) -> JsonObject:
    files = [file for file, package in parsed.bundle.packages.items() if ".".join(package) == name]
    return {"package": name, "files": [*files], **_words(metadata)}


def _rule(rule: ParsedRule) -> JsonObject:
    return {
        "package": rule.package, "rule": rule.name, "file": rule.file, "line": rule.line, **_words(rule.metadata)
    }  # fmt: skip


def _words(metadata: JsonObject) -> JsonObject:
    """The METADATA that is for people (https://www.openpolicyagent.org/docs/policy-language#metadata)."""
    kept = (
        *("scope", "title", "description", "authors", "organizations", "related_resources", "custom", "labels"),
        *("schemas", "entrypoint", MORE),
    )
    return {key: metadata[key] for key in kept if key in metadata}


def _pack(parsed: ParsedBundle, manifest: PackManifest) -> JsonObject:
    needs: JsonObject = {
        tool: {"context": tool_needs.context, "requireRaw": tool_needs.require_raw}
        for tool, tool_needs in manifest.tools.items()
    }
    return {
        "pack": manifest.pack,
        "version": manifest.version,
        "title": manifest.title,
        "owns": [*sorted(tool for tool, pack in parsed.owners.items() if pack == manifest.pack)],
        "governs": [*sorted(manifest.tools)],
        "codes": [*sorted(manifest.codes)],
        "needs": {"data": manifest.data, "tools": needs},
    }


def approval_document(ask: ApprovalAsk) -> JsonObject:
    """One approval that can be asked for."""
    return {
        "pack": ask.pack,
        "codes": [*ask.codes],
        "tools": [*ask.tools],
        "terms": ask.terms,
        "computedFrom": ask.computed_from,
        "file": ask.file,
        "line": ask.line,
    }
