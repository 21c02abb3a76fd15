"""Lint rules that hold a pack to what its manifest declares (design 5).

A context path or a table that a pack reads without declaring it is one whose loss nobody checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.linted import rule_name
from aioc_opa.packs.lint.rego_tree import VARIABLE, Path, Reference, calls, path_of
from aioc_opa.packs.routes_data import declared_tables, namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Node

_CONTEXT: Final = ("input", "runContext", "context")
_BINDINGS: Final = frozenset({"assign", "eq"})
_MEMBERS: Final = {"internal.member_2": 0, "internal.member_3": 1}
_ROUNDS: Final = 4


def context_undeclared(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """Every context path that a pack reads is in the schema of a tool it governs.

    Followed are direct references, and names that are bound to one: a rule or variable whose value is a reference, and
    `some … in` over one. What a function is given is not followed.
    """
    manifest = policy.manifests.get(module.pack or "")
    if manifest is None:
        return
    schemas = [needs.context for needs in manifest.tools.values()]
    seen: set[tuple[Path, int]] = set()
    for reference in _expanded(module, _package_aliases(policy, module)):
        path = reference.path[len(_CONTEXT) :]
        if reference.path[: len(_CONTEXT)] != _CONTEXT or (path, reference.line) in seen:
            continue
        seen.add((path, reference.line))
        if not any(_declares(schema, path) for schema in schemas):
            shown = ".".join("[_]" if part is VARIABLE else str(part) for part in path)
            yield Finding(
                module.file,
                reference.line,
                "context-undeclared",
                f"reads context {shown}, which no tool of the pack's manifest declares",
                f"add it to the context schema in aioc/packs/{module.pack}/data.json",
            )


def data_undeclared(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """Every table that a pack reads is in the manifest's `data`; another pack's rules are not its to read."""
    manifest = policy.manifests.get(module.pack or "")
    if manifest is None:
        return
    packages = [other.package for other in policy.modules.values() if not other.is_test]
    above = namespaces(packages)
    tables = list(declared_tables(manifest.data, above))
    own_rules = {
        (*other.package, rule_name(rule)) for other in policy.pack_modules(manifest.pack) for rule in other.rules()
    }
    library = [package for package in packages if package[:2] == ("aioc", "lib")]
    for reference in module.reads(module.tree.get("rules", [])):
        if reference.path[0] != "data":
            continue
        path = reference.path[1:]
        if any(path[: len(rule)] == rule for rule in own_rules) or any(path[: len(p)] == p for p in library):
            continue
        if not any(path[: len(table)] == table for table in tables):
            shown = ".".join("[_]" if part is VARIABLE else str(part) for part in path)
            yield Finding(
                module.file,
                reference.line,
                "data-undeclared",
                f"reads data.{shown}, which the pack's manifest does not declare",
                f"add it to manifest.data in aioc/packs/{manifest.pack}/data.json",
            )


def _declares(schema: Any, path: Path) -> bool:
    if not path:
        return True
    if not isinstance(schema, dict):
        return False
    head, rest = path[0], path[1:]
    properties = schema.get("properties", {})
    if isinstance(head, str) and head in properties:
        return _declares(properties[head], rest)
    members = [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    if head is VARIABLE:
        members.extend(properties.values())
        # Entries that the schema leaves open may be enumerated; nothing below them may be read.
        return any(_declares(member, rest) for member in members) or (not rest and not members)
    return any(_declares(member, rest) for member in members)


def _package_aliases(policy: LintedPolicy, module: Module) -> dict[str, Path]:
    """Rules of the package whose value is a reference, such as `_user := input.runContext.context.user`."""
    found: dict[str, Path] = {}
    for other in policy.pack_modules(module.pack or ""):
        if other.package != module.package:
            continue
        for rule in other.rules():
            value = rule["head"].get("value", {})
            if "args" not in rule["head"] and value.get("type") in {"ref", "var"} and "key" not in rule["head"]:
                found.setdefault(rule_name(rule), path_of(value))
    return found


def _expanded(module: Module, package_aliases: Mapping[str, Path]) -> Iterator[Reference]:
    for rule in module.rules():
        aliases = {**package_aliases, **_local_aliases(rule)}
        for argument in rule["head"].get("args", []):
            aliases.pop(argument.get("value"), None)
        for reference in module.reads({**rule, "else": None}):
            yield Reference(_resolve(reference.path, aliases), reference.line)


def _local_aliases(rule: Node) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for call in calls({**rule, "else": None}):
        if call.name in _BINDINGS and len(call.operands) > 1:
            left, right = call.operands[:2]
            if left.get("type") == "var" and right.get("type") in {"ref", "var"}:
                found.setdefault(left["value"], path_of(right))
        elif call.name in _MEMBERS:
            member, over = call.operands[_MEMBERS[call.name]], call.operands[-1]
            if member.get("type") == "var" and over.get("type") in {"ref", "var"}:
                found.setdefault(member["value"], (*path_of(over), VARIABLE))
    return found


def _resolve(path: Path, aliases: Mapping[str, Path]) -> Path:
    for _ in range(_ROUNDS):
        head = path[0]
        if not isinstance(head, str) or head not in aliases or aliases[head][0] == head:
            return path
        path = (*aliases[head], *path[1:])
    return path
