"""What a name in a module may stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aioc_opa.engines.rego_guard.rules import Rule, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.engines.rego_guard.tree import Module


@dataclass(frozen=True, slots=True)
class Scope:
    """All modules that are loaded together.

    Attributes:
        modules: each with its rules, read.
        rules: package path to the names of its rules.
        functions: full paths of functions.
        partial_rules: full paths of partial sets and objects.
        package_prefixes: every path that has a package at or below it.
    """

    modules: tuple[tuple[Module, tuple[Rule, ...]], ...]
    rules: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    functions: frozenset[tuple[str, ...]] = frozenset()
    partial_rules: frozenset[tuple[str, ...]] = frozenset()
    package_prefixes: frozenset[tuple[str, ...]] = frozenset()

    def resolve(self, module: Module, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """The path below ``data`` or ``input`` behind a reference of `module`; None for a local or unknown name."""
        head, rest = path[0], path[1:]
        if head in {"data", "input"}:
            return path
        if head in module.imports:
            return (*module.imports[head], *rest)
        if head in self.rules.get(module.package, frozenset()):
            return (*module.package, *path)
        return None


def scope_of(modules: Iterable[Module]) -> Scope:
    """Read the rules of `modules` and who defines what."""
    read_modules = tuple((module, tuple(read(node) for node in module.rules)) for module in modules)
    rules: dict[tuple[str, ...], frozenset[str]] = {}
    for module, own in read_modules:
        rules[module.package] = rules.get(module.package, frozenset()) | {rule.name for rule in own}
    named = [(module.package, rule) for module, own in read_modules for rule in own]
    return Scope(
        modules=read_modules,
        rules=rules,
        functions=frozenset((*package, rule.name) for package, rule in named if rule.function),
        partial_rules=frozenset((*package, rule.name) for package, rule in named if rule.partial),
        package_prefixes=frozenset(
            module.package[:length] for module, _ in read_modules for length in range(1, len(module.package) + 1)
        ),
    )
