"""A function where a value belongs. OPA refuses to load it; in regorus it is undefined, silently.

An owner's `deny(x) := …` instead of `deny contains …` would lose every denial behind its route, `data.….deny`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard.rules import pattern_names
from aioc_opa.engines.rego_guard.tree import nodes, static_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Tree

_REFERENCES: Final = frozenset({"Var", "RefDot", "RefBrack"})


def check(scope: Scope) -> Iterator[Finding]:
    """References to functions that are not calls."""
    for module, rules in scope.modules:
        for rule in rules:
            local = _local_names(rule.node) | {name for part in rule.arguments for name in pattern_names(part)}
            names = _called_or_defined(rule.node)
            for kind, node in nodes(rule.node):
                if kind not in _REFERENCES or id(node) in names:
                    continue
                path = static_path({kind: node})
                if path is None or (len(path) == 1 and path[0] in local):
                    continue
                if scope.resolve(module, path) in scope.functions:
                    yield module.finding(
                        node,
                        "function-value",
                        f"{'.'.join(path)} is a function, and no value",
                        "call it; or make it a rule: `deny contains verdict if …`",
                    )


def _called_or_defined(rule: Tree) -> frozenset[int]:
    """Nodes that are the operator of a call, or the rule's own name."""
    heads = [rule["refr"]] if "refr" in rule else [head["refr"] for head in rule["head"].values()]
    operators = [node["fcn"] for kind, node in nodes(rule) if kind == "Call"]
    return frozenset(id(node) for root in (*heads, *operators) for _, node in nodes(root))


def _local_names(rule: Tree) -> frozenset[str]:
    """Names that stand for something of the rule's own: they hide a rule of the package."""
    names: set[str] = set()
    for kind, node in nodes(rule):
        if kind == "AssignExpr" and node["op"] == "ColEq":
            names.update(pattern_names(node["lhs"]))
        elif kind == "SomeIn":
            for pattern in (node["key"], node["value"]):
                names.update(pattern_names(pattern) if pattern else ())
    return frozenset(names)
