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
def permitted_builtins() -> frozenset[str]:
    """The builtins of ``aioc_opa/packs/capabilities.json``: OPA's, without network, clock and chance."""
    text = resources.files("aioc_opa.packs").joinpath("capabilities.json").read_text(encoding="utf-8")
    return frozenset(builtin["name"] for builtin in json.loads(text)["builtins"])


def builtin_not_permitted(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """No builtin outside the capabilities file: a decision depends on its input and the policy alone."""
    if module.is_test:
        return
    imported = module.imports()
    functions = {name for other in policy.modules.values() if other.package == module.package for name in _names(other)}
    for call in calls(module.tree.get("rules", [])):
        head = call.name.partition(".")[0]
        is_own = head in functions or head in imported or head in {"data", "input", "?"}
        if not is_own and call.name not in permitted_builtins() and not call.name.startswith(_RESERVED_PREFIXES):
            yield Finding(
                module.file,
                call.line,
                "builtin-not-permitted",
                f"{call.name} is not in the capabilities file: it reads a clock, a network, chance or the process",
                "have the application put the value into runContext.context",
            )


def _names(module: Module) -> Iterator[str]:
    for rule in module.tree.get("rules", []):
        yield str(rule["head"]["ref"][0]["value"])
