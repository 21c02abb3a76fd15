"""Functions: only what the allow-list names, on its terms. Unknown to regorus, one fails only when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.engines.rego_guard.builtins import builtins
from aioc_opa.engines.rego_guard.constants import problem_of
from aioc_opa.engines.rego_guard.tree import nodes, static_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.rego_guard.builtins import AllowedBuiltin
    from aioc_opa.engines.rego_guard.finding import Finding
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Module, Tree


def check(scope: Scope) -> Iterator[Finding]:
    """Calls of functions that are not allowed, and names that hide a builtin."""
    for module, rules in scope.modules:
        for rule in rules:
            if builtins().is_builtin(rule.name):
                yield module.finding(
                    rule.node, "hides-builtin", f"rule {rule.name!r} has the name of a builtin", "give it another name"
                )
        for kind, node in nodes(list(module.rules)):
            if kind == "Call":
                yield from _check_call(scope, module, node)


def _check_call(scope: Scope, module: Module, call: Tree) -> Iterator[Finding]:
    path = static_path(call["fcn"])
    if path is None:  # regorus' parser wants a name; should a version take more, it is refused here
        yield module.finding(call, "function", "the function is computed", "name the function")
        return
    name = ".".join(path)
    resolved = scope.resolve(module, path)
    if resolved in scope.functions and not builtins().is_builtin(name):
        return
    if resolved is not None:
        why = "hides a builtin of that name" if builtins().is_builtin(name) else "is not defined by what is loaded"
        yield module.finding(call, "function", f"function {name} {why}", "call a function under a name of its own")
        return
    terms = builtins().allowed.get(name)
    if terms is None:
        why = builtins().refused.get(name, "is no builtin of the pinned OPA")
        yield module.finding(call, "builtin", f"builtin {name} is not on the allow-list", why)
        return
    yield from _check_terms(module, call, terms)


def _check_terms(module: Module, call: Tree, terms: AllowedBuiltin) -> Iterator[Finding]:
    if terms.only_in and ".".join(module.package[1:]) not in terms.only_in:
        yield module.finding(
            call, "builtin", f"builtin {terms.name} may be called by {', '.join(sorted(terms.only_in))} only", terms.why
        )
    for index, kind in terms.constant.items():
        if index < len(call["params"]) and (problem := problem_of(call["params"][index], kind)):
            yield module.finding(call, "constant", f"argument {index + 1} of {terms.name} {problem}", terms.why)
