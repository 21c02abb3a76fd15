"""Run every lint rule over a policy folder: what `aioc-opa lint` calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.library_files import library_problems, stray_routes
from aioc_opa.packs.lint import approval_terms, builtins, declared_needs, module_rules, pack_rules, verdict_values
from aioc_opa.packs.lint.finding import Finding, exit_code
from aioc_opa.packs.lint.linted import LintedPolicy, check_modules, parse_modules, read_annotations, run_opa
from aioc_opa.packs.lint.sample_decisions import sample_differs
from aioc_opa.packs.policy_folder import read_policy
from aioc_opa.packs.policy_root import check_is_policy
from aioc_opa.packs.routes import ROUTES_FILE, generate_routes, has_routes, route_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from aioc_opa.packs.lint.linted import Module
    from aioc_opa.packs.pack_manifest import PackManifest

MODULE_RULES: Final[tuple[Callable[[LintedPolicy, Module], Iterator[Finding]], ...]] = (
    module_rules.metadata_missing,
    module_rules.package_not_folder,
    module_rules.test_missing,
    module_rules.not_import_missing,
    module_rules.head_not_bound,
    module_rules.fraction_compared,
    module_rules.regex_class,
    module_rules.variable_over_packs,
    module_rules.expiry_alone,
    builtins.builtin_not_permitted,
    declared_needs.context_undeclared,
    declared_needs.data_undeclared,
)
PACK_RULES: Final[tuple[Callable[[LintedPolicy, PackManifest], Iterator[Finding]], ...]] = (
    pack_rules.codes_differ,
    pack_rules.verdict_by_hand,
    pack_rules.verdict_rule_no_set,
    pack_rules.marker_missing,
    pack_rules.part_missing,
    verdict_values.verdict_computed,
    approval_terms.approval_terms,
)


def lint_policy(policy_dir: Path, *, opa_binary: Path) -> list[Finding]:
    """Lint a policy folder, ours or an author's own.

    Args:
        policy_dir: the folder that holds ``aioc/``.
        opa_binary: an `opa`; it parses, checks and inspects, and decides the packs' samples.

    Returns:
        Findings, sorted by place. `exit_code` says whether they fail.

    Raises:
        PolicyLoadError: there is no such folder, it is no policy, or `opa` cannot be run.
    """
    if not policy_dir.is_dir():
        raise PolicyLoadError(f"{policy_dir}: no such folder")
    check_is_policy(policy_dir)
    policy = LintedPolicy(policy_dir)
    parse_modules(policy, opa_binary)
    if policy.findings:  # what cannot be read would make other rules find what is not so
        return sorted(set(policy.findings))
    check_modules(policy, opa_binary)
    read_annotations(policy, opa_binary)
    policy.findings.extend(_loading(policy))
    for module in policy.modules.values():
        for check in MODULE_RULES:
            policy.findings.extend(check(policy, module))
    for manifest in policy.manifests.values():
        for check_pack in PACK_RULES:
            policy.findings.extend(check_pack(policy, manifest))
    policy.findings.extend(_unread_files(policy))
    if not exit_code(policy.findings):  # a policy with errors decides otherwise for known reasons
        run = partial(run_opa, opa_binary, cwd=policy.root)
        policy.findings.extend(sample_differs(policy.root, sorted(policy.manifests), run))
    return sorted(set(policy.findings))


def _loading(policy: LintedPolicy) -> Iterator[Finding]:
    """What the loader refuses, and routes that are not current."""
    try:
        loaded = read_policy(policy.root)
        policy.data = loaded.data
        if not has_routes(loaded.modules):
            return
        yield from _library(loaded.modules)
        source = route_source(str(policy.root), loaded.modules, loaded.data)
        policy.manifests = source.manifests
        expected = generate_routes(source)
    except PolicyLoadError as error:
        message = str(error).removeprefix(f"{policy.root}: ")
        yield Finding(".", 1, "policy-refused", message, "the loader refuses the folder as it is")
        return
    if loaded.modules.get(ROUTES_FILE) != expected:
        message = "the routes are not those of these owners, manifests and files"
        yield Finding(ROUTES_FILE, 1, "routes-stale", message, "run `aioc-opa routes` on this folder")


def _library(modules: Mapping[str, str]) -> Iterator[Finding]:
    """The library in the folder is not the one that was tested."""
    for file, problem in stray_routes(modules):
        yield Finding(file, 1, "library-changed", problem, "remove it")
    for file, problem in library_problems(modules):
        yield Finding(file, 1, "library-changed", problem, "take the library of the version that is installed")


def _unread_files(policy: LintedPolicy) -> Iterator[Finding]:
    """JSON beside modules that no engine loads: its author thinks it is policy data."""
    for path in sorted(policy.root.rglob("*.json")):
        relative = path.relative_to(policy.root)
        if path.name == "data.json" or "samples" in relative.parts or any(p.startswith(".") for p in relative.parts):
            continue
        message = "is not loaded: in a bundle OPA reads data.json only"
        yield Finding(relative.as_posix(), 1, "data-file-name", message, "put its content into data.json of its folder")
