"""A bundle's modules as `opa parse` and `opa inspect` see them, for what is said about it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.bundle_rules import import_texts, rule_chains
from aioc_opa.packs.lint.linted import LintedPolicy, parse_modules, run_opa
from aioc_opa.packs.pack_manifest import read_manifests, read_owners
from aioc_opa.packs.routes import has_routes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.bundle_file import BundleFile
    from aioc_opa.packs.bundle_rules import ParsedRule


_MAX_NESTING: Final = 300
"""Of objects and lists in a syntax tree: two for each bracket. What is written by hand has a few dozen."""
MORE: Final = "more"
"""In METADATA: what else stands at the same place, with another scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBundle:
    """A bundle and what OPA reads in it.

    Attributes:
        bundle: the bundle.
        policy: its modules, parsed, and its packs' manifests.
        owners: pack by tool, as far as this bundle says.
        chains: all rules, in the order of the files, each with the parts of its `else` chain after it.
        imports: of each module, by file, as written.
        packages: METADATA by package, with dots; empty without.
    """

    bundle: BundleFile
    policy: LintedPolicy
    owners: Mapping[str, str]
    chains: tuple[tuple[ParsedRule, ...], ...]
    imports: Mapping[str, tuple[str, ...]]
    packages: Mapping[str, JsonObject]

    @property
    def rules(self) -> tuple[ParsedRule, ...]:
        """All rules, the parts of an `else` chain one by one."""
        return tuple(part for chain in self.chains for part in chain)


def parse_bundle(bundle: BundleFile, *, opa_binary: Path) -> ParsedBundle:
    """Parse the modules of `bundle`.

    Raises:
        PolicyLoadError: OPA cannot read them, they are nested too deep, or a pack's manifest is refused.
    """
    try:
        return _parse(bundle, opa_binary)
    except RecursionError:
        raise PolicyLoadError(f"{bundle.source}: a module is nested too deep to be read") from None


def _parse(bundle: BundleFile, opa_binary: Path) -> ParsedBundle:
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
        unread = sorted(bundle.modules.keys() ^ policy.modules.keys())
        if unread:  # such as a folder that the lint leaves out: what is not said here must not decide
            raise PolicyLoadError(f"{bundle.source}: {unread[0]}: a module in such a folder is refused; rename it")
        for place, module in policy.modules.items():
            _require_flat(bundle.source, place, module.tree)
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
    modules = policy.modules.values()
    names = sorted({".".join(module.package) for module in modules})
    return ParsedBundle(
        bundle=bundle,
        policy=policy,
        owners=owners,
        chains=tuple(chain for module in modules for chain in rule_chains(module, annotations)),
        imports={module.file: import_texts(module) for module in modules},
        packages={name: annotations.get((name, 0), {}) for name in names},
    )


def _owners(bundle: BundleFile) -> dict[str, str]:
    library = bundle.data.get("aioc")
    given = library.get("owners") if isinstance(library, dict) else None
    return {tool: str(pack) for tool, pack in given.items()} if isinstance(given, dict) else {}


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
        _require_flat(bundle.source, "METADATA", metadata)
        if metadata.get("scope") in {"package", "subpackages"}:
            place = (".".join(str(part["value"]) for part in item["path"][1:]), 0)
        else:
            place = (Path(location["file"]).as_posix(), int(location["row"]))
        first = found.setdefault(place, metadata)
        if first is not metadata:  # of another scope, at the same place
            found[place] = {**first, MORE: [*_more(first), metadata]}
    return found


def _require_flat(source: str, place: str, tree: object) -> None:
    """What is read of a tree is read by recursion."""
    level = [tree]
    for _ in range(_MAX_NESTING):
        level = [
            below
            for node in level
            for below in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(below, dict | list)
        ]
        if not level:
            return
    raise PolicyLoadError(f"{source}: {place}: is nested too deep to be read")


def is_entrypoint(metadata: JsonObject) -> bool:
    """Whether METADATA at one place, of whatever scope, makes an entrypoint."""
    return any(isinstance(each, dict) and each.get("entrypoint") is True for each in (metadata, *_more(metadata)))


def _more(metadata: JsonObject) -> list[JsonValue]:
    more = metadata.get(MORE)
    return more if isinstance(more, list) else []


def table_digest(value: object) -> str:
    """SHA-256 of the RFC 8785 text of a data table."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()
