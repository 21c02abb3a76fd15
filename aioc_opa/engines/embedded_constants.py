"""Conditions of the routes that no call can change, worked out once when the policy is loaded (design 5).

Whether a pack is loaded, and whether its declared data is there, is asked on every call; regorus walks every module
for each reference into `data`, which made these questions a third of a decision. Where a condition, and all that it
reads, is made of data and of constants, the answer is the same for every call. If it holds, ``true`` stands in its
place in the text that regorus gets; if it does not hold, it stays, and denies in its own way.

Not touched: what reads `input`, a marker that is more than a constant, and anything where a module says ``with``,
which could change what a condition reads.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.engines.rego_guard.scope import scope_of
from aioc_opa.engines.rego_guard.tree import parse, reference_parts, variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aioc_opa.engines.rego_guard.rules import Rule
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Module

_ROUTES: Final = ("data", "aioc", "routes")
_REFERENCES: Final = frozenset({"Var", "RefDot", "RefBrack"})

_Path = tuple[str, ...]


def resolve_constants(engine: Any, ast_json: str, modules: Mapping[str, str]) -> dict[str, str]:
    """`modules` with the conditions of the routes that always hold replaced by ``true``.

    Args:
        engine: a regorus engine with these modules and the policy's data.
        ast_json: its `get_ast_as_json`, which the load checks have accepted.
        modules: path to source.
    """
    scope = scope_of(parse(ast_json))
    resolved = dict(modules)
    if any(_says_with(list(module.rules)) for module, _ in scope.modules):
        return resolved
    constants = _Constants(scope)
    for module, rules in scope.modules:
        if module.package == _ROUTES:
            always = [rule for rule in rules if constants.has_condition(rule) and _holds(engine, rule.name)]
            resolved[module.file] = _replaced(modules[module.file], always)
    return resolved


class _Constants:
    """Which rules are made of data and constants alone."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._rules: dict[_Path, list[tuple[Module, Rule]]] = {}
        for module, rules in scope.modules:
            for rule in rules:
                self._rules.setdefault((*module.package, rule.name), []).append((module, rule))
        self._known: dict[_Path, bool] = {}

    def has_condition(self, rule: Rule) -> bool:
        """Whether `rule` of the routes is ``name if …``, the only one of its name, and constant."""
        path = (*_ROUTES, rule.name)
        if rule.partial or rule.function or rule.reference_head or rule.has_else or len(self._rules[path]) > 1:
            return False
        head = rule.node.get("head")
        return head is not None and variant(head)[1]["assign"] is None and self._has(path)

    def _has(self, path: _Path) -> bool:
        if path not in self._known:
            self._known[path] = False  # until it is known; a rule that needs itself is refused by regorus anyway
            self._known[path] = all(
                self._is_constant(module, reference)
                for module, rule in self._rules[path]
                for branch in rule.branches
                for reference in _references([*branch.yields, branch.query])
            )
        return self._known[path]

    def _is_constant(self, module: Module, reference: _Path) -> bool:
        resolved = self._scope.resolve(module, reference)
        if resolved is None:  # a local name, or a builtin: the load checks let none pass that has a mind of its own
            return True
        if resolved[0] != "data":
            return False
        for length in range(1, len(resolved) + 1):
            if resolved[:length] in self._rules:
                return self._has(resolved[:length])
        return resolved not in self._scope.package_prefixes  # else it is a package, with whatever rules are in it


def _references(root: Any) -> Iterator[_Path]:
    """Of every reference below `root`, the name and the constant segments before the first computed one."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict) and len(node) == 1 and next(iter(node)) in _REFERENCES:
            name, parts = reference_parts(node)
            # A reference into the value of an expression has no name; its expression is not looked into.
            segments = (part for part in takewhile(lambda part: isinstance(part, str), parts) if isinstance(part, str))
            yield ("input",) if name is None else (name, *segments)
            stack.extend(part for part in parts if not isinstance(part, str))
        elif isinstance(node, dict):
            stack.extend(node.values())


def _says_with(root: Any) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if node.get("with_mods"):
                return True
            stack.extend(node.values())
    return False


def _holds(engine: Any, name: str) -> bool:
    try:
        return engine.eval_rule(".".join((*_ROUTES, name))) is True
    except RuntimeError:  # then it errs on every call, and denies
        return False


def _replaced(source: str, rules: list[Rule]) -> str:
    """`source` with each rule as ``name := true``, on as many lines as it had."""
    text = source.encode()
    for rule in sorted(rules, key=lambda each: -each.node["span"]["start"]):
        start, end = rule.node["span"]["start"], rule.node["span"]["end"]
        text = text[:start] + f"{rule.name} := true".encode() + b"\n" * text.count(b"\n", start, end) + text[end:]
    return text.decode()
