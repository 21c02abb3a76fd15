"""Lint rules that look at one module at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.linted import rule_line, rule_name
from aioc_opa.packs.lint.rego_tree import VARIABLE, calls, line_of, variables, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Node, Path

VERDICT_SETS: Final = ("deny", "require_approval", "allow")
_PACKS: Final = ("aioc", "packs")
_COMPARISONS: Final = frozenset({"equal", "eq", "neq", "lt", "lte", "gt", "gte"})
_ROUNDING: Final = frozenset({"ceil", "floor"})
# Unicode classes in one engine, ASCII ones in the other (docs/embedded-engine.md).
_CLASS: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\[dDwWsSbB]|\\Q|\[[^\]]*(?:&&|--))")


def metadata_missing(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """METADATA on every package, and on every rule that a person reads.

    In a pack those are the rules that give verdicts, each of them; in the library every name that does not begin with
    an underscore, once; outside ``aioc`` an author's own habits hold.
    """
    if module.is_test or not policy.annotations_read:
        return
    if module.package not in policy.annotated_packages:
        yield _metadata_missing(module, line_of(module.tree["package"]), "the package")
    if module.is_generated or module.package[:1] != ("aioc",):
        return
    rules = [rule for rule in module.rules() if not rule.get("default")]
    if module.pack is not None:
        for rule in rules:
            if rule_name(rule) in VERDICT_SETS and (module.file, line_of(rule)) not in policy.annotated:
                yield _metadata_missing(module, rule_line(rule), rule_name(rule))
        return
    named = {rule_name(rule) for rule in module.rules() if (module.file, line_of(rule)) in policy.annotated}
    first_line: dict[str, int] = {}
    for rule in rules:
        first_line.setdefault(rule_name(rule), rule_line(rule))
    for name, line in first_line.items():
        if name not in named and not name.startswith("_"):
            yield _metadata_missing(module, line, name)


def _metadata_missing(module: Module, line: int, what: str) -> Finding:
    cure = "write a METADATA comment with a title directly above it"
    return Finding(module.file, line, "metadata-missing", f"{what} has no METADATA", cure)


def package_not_folder(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """A module's package is its folder; a test's, that with ``_test``."""
    expected = list(module.folder)
    if module.is_test and expected:
        expected[-1] += "_test"
    if list(module.package) != expected:
        yield Finding(
            module.file,
            line_of(module.tree["package"]),
            "package-not-folder",
            f"package {'.'.join(module.package)} is not that of its folder",
            f"write `package {'.'.join(expected)}`, or move the file" if expected else "move it into a folder",
        )


def test_missing(policy: LintedPolicy, module: Module) -> Iterator[Finding]:
    """A test stands beside every file of rules."""
    test = module.file.removesuffix(".rego") + "_test.rego"
    if not module.is_test and test not in policy.modules:
        yield Finding(module.file, 1, "test-missing", "no test stands beside it", f"write {test}")


def not_import_missing(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """`import future.keywords.not` everywhere: without it an undefined value inside a `not` hides the rule."""
    imported = module.imports().values()
    if ("future", "keywords", "not") not in imported:
        line = line_of(module.tree["package"])
        yield Finding(
            module.file,
            line,
            "not-import-missing",
            "every module needs it: without it a `not` over something undefined leaves its rule undefined",
            "add `import future.keywords.not`",
        )


def head_not_bound(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """In a partial rule the head is a constant or a variable that the body binds (docs/embedded-engine.md)."""
    if module.is_test:
        return
    for rule in module.rules():
        head = rule["head"]
        parts = [head["key"]] if "key" in head else []
        computed = any(part["type"] != "string" for part in head["ref"][1:])
        if computed:
            parts.extend(part for part in head["ref"][1:] if part["type"] != "string")
            parts.extend([head["value"]] if "value" in head else [])
        bound = variables(rule.get("body", []))
        for part in parts:
            if _is_constant(part) or (part["type"] == "var" and part["value"] in bound):
                continue
            yield Finding(
                module.file,
                rule_line(rule),
                "head-not-bound",
                f"the head of partial rule {rule_name(rule)} is computed; undefined once, it can lose the whole set",
                "bind it in the body, `verdict := …`, and write the variable in the head",
            )


def fraction_compared(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """Fractions are binary in one engine and decimal in the other (docs/embedded-engine.md)."""
    if module.is_test:
        return
    for call in calls(module.tree.get("rules", [])):
        if call.name in _COMPARISONS or call.name in _ROUNDING:
            risky = [operand for operand in call.operands if _is_fractional(operand)]
            if risky:
                yield Finding(
                    module.file,
                    call.line,
                    "fraction-compared",
                    "a fraction or a quotient decides, and engines differ in it",
                    "compare whole units: money.at_most(a, b), or round(x * 1000000) on both sides",
                )


def regex_class(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """Classes that mean Unicode in one engine and ASCII in the other (docs/embedded-engine.md)."""
    for call in calls(module.tree.get("rules", [])):
        if not call.name.startswith("regex."):
            continue
        for operand in call.operands:
            if operand.get("type") == "string" and (match := _CLASS.search(operand["value"])):
                yield Finding(
                    module.file,
                    call.line,
                    "regex-class",
                    f"{match[1]} matches other characters in other engines",
                    "spell the class out, as in [0-9] or [A-Za-z0-9_]",
                )


def variable_over_packs(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """No reference that reaches all packs: it costs with their number, and their errors become everyone's."""
    if module.is_test or _is_of_the_server(module):
        return
    for reference in module.reads(module.tree.get("rules", [])):
        if _reaches_all_packs(reference.path):
            yield Finding(
                module.file,
                reference.line,
                "variable-over-packs",
                "this reference reaches every pack",
                "name the pack; calls reach their packs through the generated routes",
            )


def expiry_alone(_: LintedPolicy, module: Module) -> Iterator[Finding]:
    """A decision's `expiresAt` informs; what binds a grant is `approval.ttlSeconds` (design 3.3)."""
    if module.is_test or _is_of_the_server(module):
        return
    for node, line in walk(module.tree.get("rules", [])):
        if not isinstance(node, dict) or node.get("type") != "object":
            continue
        keys = {pair[0].get("value") for pair in node["value"] if pair[0].get("type") == "string"}
        if "expiresAt" in keys and not keys & {"approval", "ttlSeconds"}:
            yield Finding(
                module.file,
                line,
                "expiry-alone",
                "expiresAt alone does not bound an approval",
                "give the hold terms with ttlSeconds",
                "warning",
            )


def _is_of_the_server(module: Module) -> bool:
    """Whether OPA asks it about its own API or log (rego/system), beside the decision on a call."""
    return module.file.startswith("system/")


def _reaches_all_packs(path: Path) -> bool:
    """Whether it ends above a pack, or goes on through a variable where a pack's name belongs."""
    if path[0] != "data":
        return False
    above = ("data", *_PACKS)
    return path == above[: len(path)] or any(
        path[:depth] == above[:depth] and path[depth : depth + 1] == (VARIABLE,) for depth in range(1, len(above) + 1)
    )


def _is_constant(term: Node) -> bool:
    computed = {"var", "ref", "call", "templatestring", "arraycomprehension", "setcomprehension", "objectcomprehension"}
    return not any(isinstance(below, dict) and below.get("type") in computed for below, _ in walk(term))


def _is_fractional(operand: Any) -> bool:
    """Whether a fraction or a quotient reaches the operand without being rounded."""
    if not isinstance(operand, dict):
        return False
    if operand.get("type") == "number":
        return float(operand["value"]) != int(operand["value"])
    if operand.get("type") != "call":
        return False
    name = operand["value"][0]["value"][0]["value"]
    if name == "div":
        return True
    if name == "round":
        return False
    return name in {"plus", "minus", "mul", "abs"} and any(map(_is_fractional, operand["value"][1:]))
