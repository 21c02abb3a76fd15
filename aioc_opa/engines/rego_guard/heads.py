"""Difference 1: what a head value that is undefined for one solution of a body does to the others.

regorus drops the values that the body gave before; OPA keeps them. `deny contains {"item": e.sku} if {some e in
input.items; …}` with a last item that has no `sku` denies in OPA and is `[]` in regorus: looser. The same is so of a
complete rule whose body has several solutions (`first := input.items[_].sku`), and an undefined head value of a
function skips its `else` in regorus only. A constant, or a name that the body bound, cannot be undefined.

A constant head has a difference of its own: regorus stops at the first solution of the body, so that an error in a
later one (`allow contains "c" if {some v in input.o; count(v) > 3}` with a boolean behind a list) is never met. OPA
goes through them all and reports it, which denies. With a name in the head both do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.engines.rego_guard.rules import Branch, Rule, assigned_names, bound_names, pattern_names
from aioc_opa.engines.rego_guard.tree import LITERALS, nodes, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Module, Tree

_CURE = "bind it in the body (`v := …` as its last line) and put the name `v` in the head"


def check(scope: Scope) -> Iterator[Finding]:
    """Heads that can be undefined where that matters."""
    for module, rules in scope.modules:
        known = scope.rules.get(module.package, frozenset()) | module.imports.keys() | {"input", "data"}
        for rule in rules:
            yield from _check_rule(module, rule, known)


def _check_rule(module: Module, rule: Rule, known: frozenset[str] | set[str]) -> Iterator[Finding]:
    arguments = frozenset(name for argument in rule.arguments for name in pattern_names(argument))
    for branch in rule.branches:
        bound = arguments | bound_names(branch.query)
        single = arguments | assigned_names(branch.query) | known
        if rule.partial and all(_defined(value, frozenset()) for value in branch.yields) and _iterates(branch, single):
            yield module.finding(
                rule.node,
                "constant-head",
                f"the body of partial rule {rule.name!r} may stop at its first solution, before one that fails",
                _CURE,
            )
        if all(_defined(value, bound) for value in branch.yields):
            continue
        if rule.partial:
            yield module.finding(
                rule.node, "partial-head", f"the head of partial rule {rule.name!r} can be undefined", _CURE
            )
        elif rule.has_else:
            yield module.finding(
                rule.node, "else-head", f"a head value of {rule.name!r} can be undefined before an else", _CURE
            )
        elif _iterates(branch, single):
            yield module.finding(
                rule.node,
                "iterated-head",
                f"the head value of {rule.name!r} can be undefined for one of several solutions",
                _CURE,
            )


def _defined(value: Tree, bound: frozenset[str]) -> bool:
    """Whether a head value is made of constants and names that the body bound."""
    stack = [value]
    while stack:
        kind, body = variant(stack.pop())
        if kind in LITERALS:
            continue
        if kind == "Var":
            if body["value"] not in bound:
                return False
        elif kind in {"Array", "Set"}:
            stack.extend(body["items"])
        elif kind == "Object":
            stack.extend(part for _, key, item in body["fields"] for part in (key, item))
        else:
            return False
    return True


def _iterates(branch: Branch, single: frozenset[str] | set[str]) -> bool:
    """Whether a body, or the head value itself, may have more than one solution. `single` are names with one value."""
    for part in (branch.query, *branch.yields):
        for kind, body in nodes(part, into_comprehensions=False):
            if kind == "SomeIn":
                return True
            if kind == "RefBrack" and any(name not in single for name in pattern_names(body["index"])):
                return True
    return False
