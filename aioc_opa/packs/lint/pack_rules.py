"""Lint rules that look at one pack: its codes, its parts, its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.reasons import ALLOWED, LIBRARY_CODES, NO_RULE_ALLOWS, RESERVED
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.linted import rule_line, rule_name
from aioc_opa.packs.lint.module_rules import VERDICT_SETS
from aioc_opa.packs.lint.rego_tree import calls, walk
from aioc_opa.packs.lint.verdict_values import constructor_names
from aioc_opa.packs.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.pack_manifest import PackManifest


def codes_differ(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """Codes that the constructors are given are declared, and declared codes occur."""
    occurring: set[str] = set()
    for module in policy.pack_modules(manifest.pack):
        for node, _ in walk(module.tree.get("rules", [])):
            if isinstance(node, dict) and node.get("type") == "string":
                occurring.add(node["value"])
        yield from _undeclared(module, manifest)
    for code in sorted(manifest.codes - occurring):
        yield Finding(
            f"aioc/packs/{manifest.pack}/data.json",
            1,
            "code-unused",
            f"code {code!r} is declared and occurs in no rule",
            "remove it from manifest.codes, or write the rule",
        )


def _undeclared(module: Module, manifest: PackManifest) -> Iterator[Finding]:
    constructors = constructor_names(module)
    for call in calls(module.tree.get("rules", [])):
        if call.name not in constructors or not call.operands or call.operands[0].get("type") != "string":
            continue
        code = call.operands[0]["value"]
        if code in RESERVED or code in {ALLOWED, NO_RULE_ALLOWS}:
            message, cure = f"code {code!r} is the runtime's word", "take another"
            yield Finding(module.file, call.line, "code-reserved", message, cure)
        elif code not in manifest.codes:
            message, cure = f"code {code!r} is not declared", "add it to manifest.codes"
            yield Finding(module.file, call.line, "code-undeclared", message, cure)


def verdict_by_hand(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """Verdicts come from the constructors: an object with a key `code` is one that was made by hand."""
    for module in policy.pack_modules(manifest.pack):
        for node, line in walk(module.tree.get("rules", [])):
            if not isinstance(node, dict) or node.get("type") != "object":
                continue
            if any(pair[0].get("value") == "code" for pair in node["value"]):
                cure = "call verdicts.deny, deny_because, hold, hold_with or allow"
                yield Finding(module.file, line, "verdict-by-hand", "a verdict is written as an object", cure)


def verdict_rule_no_set(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """deny, require_approval and allow are partial sets."""
    for module in policy.pack_modules(manifest.pack):
        for rule in module.rules():
            name = rule_name(rule)
            if name in VERDICT_SETS and ("key" not in rule["head"] or len(rule["head"]["ref"]) > 1):
                message, cure = f"{name} is no set of verdicts", f"write `{name} contains verdict if …`"
                yield Finding(module.file, rule_line(rule), "verdict-rule-no-set", message, cure)


def marker_missing(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """Each file of a pack says that it is loaded, so that the loss of one is a deny and not a lost rule."""
    modules = policy.pack_modules(manifest.pack)
    loaded = {(module.file, rule_name(rule)) for module in modules for rule in module.rules()}
    if not any(name == "loaded" for _, name in loaded):
        file = f"aioc/packs/{manifest.pack}/{manifest.pack}.rego"
        yield Finding(file, 1, "marker-missing", "the pack does not say `loaded := true`", "add it")
    for module in modules:
        is_main = module.file == f"aioc/packs/{manifest.pack}/{manifest.pack}.rego"
        marker = f"{module.stem}_loaded"
        if len(modules) > 1 and not is_main and (module.file, marker) not in loaded:
            message = f"the file does not say `{marker} := true`; calls will be denied as pack_missing"
            yield Finding(module.file, 1, "marker-missing", message, "add it")


def part_missing(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """A pack has a README and samples, and each sample is one."""
    folder = policy.root / "aioc" / "packs" / manifest.pack
    where = f"aioc/packs/{manifest.pack}"
    if not (folder / "README.md").is_file():
        yield Finding(f"{where}/README.md", 1, "readme-missing", "the pack has no README.md", "write one")
    try:
        samples = read_samples(folder / "samples")
    except PolicyLoadError as error:
        yield Finding(f"{where}/samples", 1, "sample-invalid", str(error), "see docs/authoring-policies.md")
        return
    if not samples:
        yield Finding(f"{where}/samples", 1, "samples-missing", "the pack has no samples", "write samples/<name>.json")
    for sample in samples:
        unknown = sorted(set(sample.reasons) - _known_codes(policy))
        if unknown:
            message, cure = f"expects {unknown[0]!r}, which nothing here emits", "correct it, or declare the code"
            yield Finding(f"{where}/samples/{sample.name}", 1, "sample-invalid", message, cure)


def _known_codes(policy: LintedPolicy) -> frozenset[str]:
    return LIBRARY_CODES.union(*(manifest.codes for manifest in policy.manifests.values()))
