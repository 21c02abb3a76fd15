"""Difference 5: characters that `count` and `lower` treat differently, where the policy may meet them.

No load check can see whether `count(x)` counts a text. So where it may, calls that hold such characters are
denied on the embedded engine, and only those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.rego_guard.builtins import TextKind, builtins
from aioc_opa.engines.rego_guard.tree import nodes, static_path, variant

if TYPE_CHECKING:
    from aioc_opa.engines.rego_guard.scope import Scope
    from aioc_opa.engines.rego_guard.tree import Module, Tree

_ASTRAL: Final = r"\U00010000-\U0010ffff"
# The letters on which Go 1.26's unicode.ToLower and Rust 1.9x's str::to_lowercase differ, every code point compared
# (tests/differential): dotted capital I, final sigma, and letters newer than Go's tables. The latter lie in blocks.
_CASE: Final = r"\u0130\u03a3\u1c89\ua7cb-\ua7dc" + _ASTRAL
CHARACTERS: Final[dict[TextKind, re.Pattern[str]]] = {
    "astral": re.compile(f"[{_ASTRAL}]"),
    "case": re.compile(f"[{_CASE}]"),
}
"""By kind, the characters on which the engines differ. Those of ``case`` include those of ``astral``."""

_COLLECTIONS: Final = frozenset({"Array", "Set", "Object", "ArrayCompr", "SetCompr", "ObjectCompr"})
_COLLECTION_CALLS: Final = frozenset(
    {"object.keys", "array.concat", "array.slice", "split", "union", "intersection", "object.union", "sort"}
)


def refused_characters(scope: Scope) -> re.Pattern[str] | None:
    """A pattern of the characters that must not reach this policy, in data or input; None when all may."""
    kinds = {
        terms.text
        for module, _ in scope.modules
        for kind, call in nodes(list(module.rules))
        if kind == "Call"
        and (terms := builtins().allowed.get(".".join(static_path(call["fcn"]) or ()))) is not None
        and terms.text is not None
        and not _counts_a_collection(scope, module, call)
    }
    if not kinds:
        return None
    return CHARACTERS["case" if "case" in kinds else "astral"]


def _counts_a_collection(scope: Scope, module: Module, call: Tree) -> bool:
    if static_path(call["fcn"]) != ("count",) or len(call["params"]) != 1:
        return False
    kind, body = variant(call["params"][0])
    if kind in _COLLECTIONS:
        return True
    if kind == "Call":
        return ".".join(static_path(body["fcn"]) or ()) in _COLLECTION_CALLS
    path = static_path(call["params"][0])
    return path is not None and scope.resolve(module, path) in scope.partial_rules
