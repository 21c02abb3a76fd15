"""Difference 9: patterns. OPA unifies an object with one of exactly its keys; regorus also with one that has more.

`f({"k": v}) := v` is undefined for `{"k": 1, "j": 2}` in OPA, and 1 in regorus; so is `{"a": x} := input.o`, and a
pattern in `some … in`. A name twice among the arguments (`f(x, x)`) is compared in OPA only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard.rules import pattern_names
from aioc_opa.engines.rego_guard.tree import nodes, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Tree

_CURE: Final = "bind the whole object to a name and read its keys; compare with `==`"


def check(scope: Scope) -> Iterator[Finding]:
    """Objects in patterns, and arguments that are named twice."""
    for module, rules in scope.modules:
        for rule in rules:
            names = [name for argument in rule.arguments for name in pattern_names(argument) if name != "_"]
            if len(names) != len(set(names)):
                yield module.finding(
                    rule.node, "repeated-argument", f"an argument of {rule.name!r} is named twice", "compare with `==`"
                )
            if any(_has_object(argument) for argument in rule.arguments):
                yield module.finding(rule.node, "object-pattern", f"{rule.name!r} takes an object apart", _CURE)
        for kind, node in nodes(list(module.rules)):
            if any(_has_object(pattern) for pattern in _patterns(kind, node)):
                yield module.finding(node, "object-pattern", "a pattern takes an object apart", _CURE)


def _patterns(kind: str, node: Tree) -> tuple[Tree, ...]:
    if kind == "AssignExpr":
        return (node["lhs"],) if node["op"] == "ColEq" else (node["lhs"], node["rhs"])
    if kind == "SomeIn":
        return (*((node["key"],) if node["key"] else ()), node["value"])
    return ()


def _has_object(pattern: Tree) -> bool:
    stack = [pattern]
    while stack:
        kind, body = variant(stack.pop())
        if kind == "Object":
            return True
        if kind == "Array":
            stack.extend(body["items"])
    return False
