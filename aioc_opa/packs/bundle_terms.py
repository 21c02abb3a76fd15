"""The terms of an approval, where a rule writes them out. What is computed is not guessed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.limits import MAX_SAFE_INTEGER
from aioc_opa.packs.lint.linted import rule_name
from aioc_opa.packs.lint.rego_tree import calls, dotted, variables, walk
from aioc_opa.packs.lint.verdict_values import constructor_names, term_maker_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Node


def written_terms(policy: LintedPolicy, module: Module, rule: Node, defaults: JsonValue) -> JsonObject | None:
    """The terms that `rule` of `module` asks for, on every way through it; None where they are not written out.

    Args:
        policy: the parsed modules.
        module: of the rule.
        rule: of the set ``require_approval``.
        defaults: the library's terms.
    """
    if any(isinstance(node, dict) and node.get("with") for node, _ in walk(rule)):
        return None  # what is replaced may be what the library's terms are made of
    declared = _declared(rule)
    constants = {name: value for name, value in _constants(policy, module).items() if name not in declared}
    named = {**constants, **_assigned(rule, declared)}
    constructors = constructor_names(module)
    found: list[JsonValue] = []
    for call in calls({**rule, "else": None}):
        if call.name not in constructors:
            continue
        if call.name.endswith(".hold"):
            found.append(defaults)
        elif call.name.endswith(".hold_with") and len(call.operands) > 1:
            found.append(_Terms(term_maker_names(module), named, defaults).value(call.operands[1]))
    one = found[0] if found and all(canonical_text(term) == canonical_text(found[0]) for term in found) else None
    return one if isinstance(one, dict) and None not in one.values() else None


def _constants(policy: LintedPolicy, module: Module) -> dict[str, Node]:
    """The value of each rule of the package that has one definition, without a condition."""
    rules = [rule for each in policy.modules.values() if each.package == module.package for rule in each.rules()]
    defined = Counter(map(rule_name, rules))
    return {
        rule_name(rule): rule["head"]["value"] for rule in rules if defined[rule_name(rule)] == 1 and _is_constant(rule)
    }


def _is_constant(rule: Node) -> bool:
    head = rule["head"]
    whole = "value" in head and "args" not in head and "key" not in head and len(head["ref"]) == 1
    unconditional = all(expression.get("generated") is True for expression in rule.get("body", []))
    return whole and unconditional and not rule.get("default") and rule.get("else") is None


def _declared(rule: Node) -> Counter[str]:
    """How often a rule declares a variable; the name of a rule of the package then means something else."""
    declared: Counter[str] = Counter()
    for node, _ in walk(rule):
        terms: Node = node.get("terms") if isinstance(node, dict) else None
        if _is_assignment(terms):
            declared.update(variables(terms[1]))
        elif isinstance(terms, dict):
            declared.update(variables([terms.get("symbols"), terms.get("key"), terms.get("value")]))
    return declared


def _assigned(rule: Node, declared: Counter[str]) -> dict[str, Node]:
    """What the rule's own body gives to a variable, once and on every way through it."""
    statements = [each for each in rule.get("body", []) if not each.get("with") and not each.get("negated")]
    return {
        terms[1]["value"]: terms[2]
        for terms in (each.get("terms") for each in statements)
        if _is_assignment(terms) and terms[1].get("type") == "var" and declared[terms[1]["value"]] == 1
    }


def _is_assignment(terms: Node) -> bool:
    return isinstance(terms, list) and terms[0].get("type") == "ref" and dotted(terms[0]) == "assign"


@dataclass(frozen=True, slots=True)
class _Terms:
    """Reads terms that are written out; None for what is computed."""

    makers: frozenset[str]
    named: Mapping[str, Node]
    defaults: JsonValue

    def value(self, node: Node, depth: int = 0) -> JsonValue:
        kind = node["type"]
        if depth > 16:  # noqa: PLR2004 - rules that name each other
            return None
        if kind in {"string", "boolean"}:
            return _plain(node["value"])
        if kind == "number":
            return _whole(node["value"])
        if kind in {"array", "set"}:
            members = [self.value(member, depth + 1) for member in node["value"]]
            return None if None in members else members
        if kind == "object":
            return {str(key["value"]): self.value(below, depth + 1) for key, below in node["value"]}
        if kind == "var":
            return self.value(self.named[node["value"]], depth + 1) if node["value"] in self.named else None
        if kind == "call" and dotted(node["value"][0]) in self.makers:
            return self._made(dotted(node["value"][0]).rpartition(".")[2], node["value"][1:], depth + 1)
        return None

    def _made(self, helper: str, operands: list[Node], depth: int) -> JsonValue:
        values = [self.value(operand, depth) for operand in operands]
        base = values[0] if helper in {"within", "requester_may_approve"} else self.defaults
        if not isinstance(base, dict) or None in values:
            return None
        if helper == "within":
            return {**base, "ttlSeconds": values[1]}
        if helper == "requester_may_approve":
            return {**base, "separationOfDuties": False}
        more = {"quorum": values[1]} if helper == "by_persons" else {}
        return {**base, "approverRoles": values[0], **more}


def _whole(value: Any) -> JsonValue:
    """A number that terms can have; None for any other."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and abs(value) <= MAX_SAFE_INTEGER else None


def _plain(value: Any) -> JsonValue:
    return value if isinstance(value, str | bool) else None
