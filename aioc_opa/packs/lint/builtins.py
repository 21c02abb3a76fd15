"""Which builtins a policy may call: the capabilities file, and the embedded engine's allow-list beside it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.rego_tree import calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.lint.linted import LintedPolicy, Module

_RESERVED_PREFIXES: Final = ("internal.",)


@cache
def _capabilities() -> list[dict[str, str]]:
    text = resources.files("aioc_opa.packs").joinpath("capabilities.json").read_text(encoding="utf-8")
    builtins: list[dict[str, str]] = json.loads(text)["builtins"]
    return builtins


@cache
def permitted_builtins() -> frozenset[str]:
    """The builtins of ``aioc_opa/packs/capabilities.json``: OPA's, without network, clock and chance."""
    return frozenset(builtin["name"] for builtin in _capabilities())


@cache
def refused_by_embedded() -> dict[str, str]:
    """Builtins that the embedded engine refuses at load, with its reason: ``engines/rego_guard/builtins.json``.

    Without the names that operators have in the tree: there they are what `==` or `+` became.
    """
    file = resources.files("aioc_opa").joinpath("engines", "rego_guard", "builtins.json")
    refused = json.loads(file.read_text(encoding="utf-8"))["refused"]
    operators = {builtin["name"] for builtin in _capabilities() if "infix" in builtin}
    return {name: why for why, names in refused.items() for name in names if name not in operators}


def builtin_not_permitted(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """No builtin outside the capabilities file: a decision depends on its input and the policy alone."""
    if module.is_test:
        return
    imported = module.imports()
    functions = {name for other in policy.modules.values() if other.package == module.package for name in _names(other)}
    for call in calls(module.tree.get("rules", [])):
        head = call.name.partition(".")[0]
        if head in functions or head in imported or head in {"data", "input", "?"}:
            continue
        if call.name.startswith(_RESERVED_PREFIXES):
            continue
        if call.name not in permitted_builtins():
            yield Finding(
                module.file,
                call.line,
                "builtin-not-permitted",
                f"{call.name} is not in the capabilities file: it reads a clock, a network, chance or the process",
                "have the application put the value into runContext.context",
            )
        elif call.name in refused_by_embedded():
            yield Finding(
                module.file,
                call.line,
                "builtin-not-embedded",
                f"the embedded engine refuses {call.name}: {refused_by_embedded()[call.name]}",
                "avoid it where the policy is to run without a server",
                "warning",
            )


def _names(module: Module) -> Iterator[str]:
    for rule in module.tree.get("rules", []):
        yield str(rule["head"]["ref"][0]["value"])
