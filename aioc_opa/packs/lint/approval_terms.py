"""Lint rule for the terms that `verdicts.hold_with` is given: complete, known, and of their types.

A hold whose terms are not is a verdict that denies as ``malformed_verdict``, on every call. Terms that are written out
are looked at, in the call or in a rule of the pack, and so is what the helpers of `aioc.lib.approvals` are given; terms
from data are the routes' to check, as the manifest declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.linted import rule_name
from aioc_opa.packs.lint.rego_tree import calls, dotted, line_of
from aioc_opa.packs.lint.verdict_values import LIBRARY, term_maker_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Node
    from aioc_opa.packs.pack_manifest import PackManifest

# Type, and the least and most of a number (rego/aioc/lib/verdict_shapes).
_TERMS: Final = {
    "approverRoles": ("array", None),
    "quorum": ("number", (1, 100)),
    "separationOfDuties": ("boolean", None),
    "ttlSeconds": ("number", (1, 31536000)),
}
# What each helper of aioc.lib.approvals is given; None is terms. The library's defaults give the rest.
_GIVEN: Final[dict[str, tuple[str | None, ...]]] = {
    "by": ("approverRoles",),
    "by_persons": ("approverRoles", "quorum"),
    "within": (None, "ttlSeconds"),
    "requester_may_approve": (None,),
}
_CONSTANT: Final = frozenset({"array", "set", "object", "string", "number", "boolean", "null"})


def approval_terms(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """The terms of `hold_with`, where they are written out."""
    modules = policy.pack_modules(manifest.pack)
    named: dict[str, list[tuple[Module, Node]]] = {}
    for module in modules:
        for rule in module.rules():
            if "value" in rule["head"] and "args" not in rule["head"] and len(rule["head"]["ref"]) == 1:
                named.setdefault(rule_name(rule), []).append((module, rule["head"]["value"]))
    for module in modules:
        names = [name for name, path in module.imports().items() if path == LIBRARY]
        holds = {f"{name}.hold_with" for name in [*names, ".".join(LIBRARY)]}
        for call in calls(module.tree.get("rules", [])):
            if call.name not in holds or len(call.operands) < 2:  # noqa: PLR2004 - code and terms
                continue
            terms = call.operands[1]
            written = named.get(terms["value"], []) if terms["type"] == "var" else [(module, terms)]
            for where, node in written:
                for problem in _problems(node, term_maker_names(where)):
                    yield Finding(
                        where.file,
                        line_of(node, call.line),
                        "approval-terms",
                        f"{problem}; every call would be denied as malformed_verdict",
                        f"give all of {', '.join(_TERMS)}, or use verdicts.hold",
                    )


def _problems(terms: Node, makers: frozenset[str]) -> Iterator[str]:
    if terms["type"] == "call" and dotted(terms["value"][0]) in makers:
        operator, *operands = terms["value"]
        for name, operand in zip(_GIVEN[dotted(operator).rpartition(".")[2]], operands, strict=False):
            if name is None:
                yield from _problems(operand, makers)
            elif operand["type"] in _CONSTANT and not _is_sound(name, operand):
                yield f"{name} has a value that it cannot have"
        return
    if terms["type"] not in _CONSTANT:
        return
    if terms["type"] != "object":
        yield "the terms of hold_with are no object"
        return
    given = {key["value"]: value for key, value in terms["value"] if key["type"] == "string"}
    if len(given) < len(terms["value"]):  # a computed key may be any of them
        return
    for name in _TERMS:
        if name not in given:
            yield f"{name} is missing"
    for name, value in given.items():
        if name not in _TERMS:
            yield f"{name!r} is no term of an approval"
        elif value["type"] in _CONSTANT and not _is_sound(name, value):
            yield f"{name} has a value that it cannot have"


def _is_sound(name: str, value: Node) -> bool:
    kind, bounds = _TERMS[name]
    if value["type"] != kind:
        return False
    if bounds is not None:
        number = float(value["value"])
        return bounds[0] <= number <= bounds[1] and number.is_integer()
    if kind == "array":
        return bool(value["value"]) and all(
            role["type"] == "string" and role["value"].strip() if role["type"] in _CONSTANT else True
            for role in value["value"]
        )
    return True
