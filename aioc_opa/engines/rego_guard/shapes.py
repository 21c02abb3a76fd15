"""Shapes of statements that regorus reads or evaluates otherwise than OPA, and the missing import of `not`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.limits import MAX_SAFE_INTEGER
from aioc_opa.engines.rego_guard.tree import nodes, reference_parts, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Module, Tree


def check(scope: Scope) -> Iterator[Finding]:
    """All of them, module by module."""
    for module, rules in scope.modules:
        for rule in rules:
            if rule.reference_head:
                yield module.finding(
                    rule.node,
                    "reference-head",
                    f"the head of {rule.name!r} is a reference",
                    "give the rule a plain name, or move it to a package of that name",
                )
        yield from _check_statements(module)
        for kind, node in nodes(list(module.rules)):
            yield from _check_node(scope, module, kind, node)


def _check_statements(module: Module) -> Iterator[Finding]:
    negated = next((node for kind, node in nodes(list(module.rules)) if kind == "NotExpr"), None)
    if negated is not None and "not" not in module.future_keywords:
        yield module.finding(
            negated,
            "not-import",
            "`not` without its import: where something inside is undefined, only OPA leaves the rule undefined",
            "add `import future.keywords.not` below the package line",
        )
    for statement in _statements(module):
        if statement.get("with_mods"):
            yield module.finding(
                statement["with_mods"][0], "with", "`with` is evaluated differently", "use it in tests only"
            )


def _statements(module: Module) -> Iterator[Tree]:
    stack: list[object] = list(module.rules)
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if "literal" in node and "sidx" in node:
                yield node
            stack.extend(node.values())


def _check_node(scope: Scope, module: Module, kind: str, node: Tree) -> Iterator[Finding]:
    if kind == "NotExpr" and not _is_term(node["expr"]):
        yield module.finding(
            node,
            "not-body",
            "`not` before a body, a collection or a unification",
            "negate one expression, with `==` for equality, or a helper rule",
        )
    elif kind == "Membership" and node["key"] is not None:
        yield module.finding(
            node,
            "membership-pair",
            "`key, value in …` without `some` fails on sets",
            "write `collection[key] == value`",
        )
    elif kind == "Number" and abs(node["value"]) > MAX_SAFE_INTEGER:
        yield module.finding(
            node,
            "large-number",
            "a number beyond 2^53-1 overflows or loses a unit",
            "use a smaller number, or a string",
        )
    elif kind == "RefBrack":
        yield from _check_index(scope, module, node)


def _check_index(scope: Scope, module: Module, node: Tree) -> Iterator[Finding]:
    """Each computed index of a reference is seen on its own `RefBrack`: its base is what lies before it."""
    root, parts = reference_parts(node["refr"])
    if root is None or any(not isinstance(part, str) for part in parts) or _constant(node["index"]):
        return
    path = scope.resolve(module, (root, *(part for part in parts if isinstance(part, str))))
    if path in scope.package_prefixes:
        yield module.finding(
            node,
            "package-index",
            "a variable index into packages: regorus evaluates every one of them",
            "name the package: let `aioc-opa routes` write the routes",
        )


def _is_term(negated: Tree) -> bool:
    """`not {…}` is a body for OPA and a set for regorus; `not x = y` unifies in OPA only."""
    kind, _ = variant(negated)
    return kind not in {"Set", "Object", "Array", "SetCompr", "ObjectCompr", "ArrayCompr", "AssignExpr"}


def _constant(index: Tree) -> bool:
    return "String" in index or "RawString" in index
