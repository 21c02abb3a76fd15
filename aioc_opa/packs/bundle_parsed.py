"""A bundle's modules as `opa parse` and `opa inspect` see them, for what is said about it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.linted import LintedPolicy, parse_modules, rule_line, rule_name, run_opa
from aioc_opa.packs.lint.rego_tree import line_of
from aioc_opa.packs.pack_manifest import read_manifests, read_owners
from aioc_opa.packs.routes import has_routes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.bundle_file import BundleFile
    from aioc_opa.packs.lint.rego_tree import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRule:
    """One rule, or one part of an `else` chain.

    Attributes:
        package: with dots.
        name: the head's first word.
        file: path in the bundle.
        line: from 1.
        digest: SHA-256 of its tree without places: the same when only spaces or comments differ.
        metadata: its METADATA; empty without.
    """

    package: str
    name: str
    file: str
    line: int
    digest: str
    metadata: JsonObject


@dataclass(frozen=True, slots=True)
class ParsedBundle:
    """A bundle and what OPA reads in it.

    Attributes:
        bundle: the bundle.
        policy: its modules, parsed, and its packs' manifests.
        owners: pack by tool, as far as this bundle says.
        rules: all of them, in the order of the files.
        packages: METADATA by package, with dots; empty without.
    """

    bundle: BundleFile
    policy: LintedPolicy
    owners: Mapping[str, str]
    rules: tuple[ParsedRule, ...]
    packages: Mapping[str, JsonObject]


def parse_bundle(bundle: BundleFile, *, opa_binary: Path) -> ParsedBundle:
    """Parse the modules of `bundle`.

    Raises:
        PolicyLoadError: OPA cannot read them, or a pack's manifest is refused.
    """
    with tempfile.TemporaryDirectory(prefix="aioc-opa-inspect-") as folder:
        root = Path(folder)
        for name, text in bundle.modules.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        policy = LintedPolicy(root)
        parse_modules(policy, opa_binary)
        if policy.findings:
            raise PolicyLoadError(f"{bundle.source}: {policy.findings[0]}")
        annotations = _annotations(bundle, root, opa_binary)
    owners: Mapping[str, str] = {}
    if has_routes(bundle.modules):
        packs = frozenset(module.pack for module in policy.modules.values() if module.pack is not None)
        policy.manifests = read_manifests(bundle.source, bundle.data, packs)
    if all(pack in policy.manifests for pack in _owners(bundle).values()):
        owners = read_owners(bundle.source, bundle.data, policy.manifests)
    else:  # a part of a policy: some packs are in other bundles
        owners = _owners(bundle)
    policy.data = bundle.data
    rules = tuple(
        _rule(".".join(module.package), module.file, rule, annotations)
        for module in policy.modules.values()
        for rule in module.rules()
    )
    names = sorted({".".join(module.package) for module in policy.modules.values()})
    return ParsedBundle(bundle, policy, owners, rules, {name: annotations.get((name, 0), {}) for name in names})


def _owners(bundle: BundleFile) -> dict[str, str]:
    library = bundle.data.get("aioc")
    given = library.get("owners") if isinstance(library, dict) else None
    return {tool: str(pack) for tool, pack in given.items()} if isinstance(given, dict) else {}


def _rule(package: str, file: str, rule: Node, annotations: Mapping[tuple[str, int], JsonObject]) -> ParsedRule:
    tree = _without_places({key: value for key, value in rule.items() if key != "else"})
    return ParsedRule(
        package=package,
        name=rule_name(rule),
        file=file,
        line=rule_line(rule),
        digest=hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest(),
        metadata=annotations.get((file, line_of(rule)), {}),
    )


def _without_places(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_places(value) for key, value in node.items() if key not in {"location", "annotations"}}
    return [_without_places(value) for value in node] if isinstance(node, list) else node


def _annotations(bundle: BundleFile, root: Path, opa_binary: Path) -> dict[tuple[str, int], JsonObject]:
    """METADATA by file and line of the rule; that of a package by its name and 0."""
    found: dict[tuple[str, int], JsonObject] = {}
    if not bundle.modules:
        return found
    done = run_opa(opa_binary, "inspect", "--annotations", "--format", "json", ".", cwd=root)
    if done.returncode != 0:
        raise PolicyLoadError(f"{bundle.source}: opa inspect: {(done.stderr or done.stdout).strip()}")
    for item in json.loads(done.stdout).get("annotations") or []:
        metadata, location = item["annotations"], item["location"]
        if metadata.get("scope") in {"package", "subpackages"}:
            found[(".".join(str(part["value"]) for part in item["path"][1:]), 0)] = metadata
        else:
            found[(Path(location["file"]).as_posix(), int(location["row"]))] = metadata
    return found


def table_digest(value: object) -> str:
    """SHA-256 of the RFC 8785 text of a data table."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()
