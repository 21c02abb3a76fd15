"""What can come of a call, by tool, as far as a policy's text says: an upper bound, for people who read policy.

A verdict's code is taken from the constructor's call. Where it is computed, or made by a function, every code that the
pack declares counts. A rule is narrowed to tools only by ``input.toolName == "…"`` or ``input.toolName in {…}``
standing in its own body; any other rule counts for every tool that the pack governs. So nothing possible is missing
here, and something impossible may be listed. What the runtime and the library refuse by themselves
(``context_missing`` and the like) is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.packs.bundle_term_sources import TermSources
from aioc_opa.packs.bundle_terms import written_terms
from aioc_opa.packs.data_documents import value_at
from aioc_opa.packs.lint.linted import rule_line, rule_name
from aioc_opa.packs.lint.module_rules import VERDICT_SETS
from aioc_opa.packs.lint.rego_tree import calls, dotted, path_of
from aioc_opa.packs.lint.verdict_values import constructor_names, verdict_maker_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.packs.bundle_parsed import ParsedBundle
    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Node
    from aioc_opa.packs.pack_manifest import PackManifest

_TOOL_NAME: Final = ("input", "toolName")
_EQUALITY: Final = frozenset({"eq", "equal"})
_MEMBER: Final = "internal.member_2"


@dataclass(slots=True)
class ToolOutcomes:
    """Codes that a call of one tool can get, by the verdict's kind. `allow` is empty where no owner allows."""

    owner: str | None = None
    governed_by: list[str] = field(default_factory=list)
    deny: set[str] = field(default_factory=set)
    require_approval: set[str] = field(default_factory=set)
    allow: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ApprovalAsk:
    """An approval that a pack can ask for.

    Attributes:
        pack: that asks.
        codes: that the verdict can have.
        tools: that it can be about.
        terms: what approving it takes; None where that is computed or comes from data.
        computed_from: digest by name of what the terms can depend on; empty where they are written out.
        file: of the rule.
        line: of the rule, from 1.
    """

    pack: str
    codes: tuple[str, ...]
    tools: tuple[str, ...]
    terms: JsonObject | None
    computed_from: JsonObject
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class _VerdictRule:
    manifest: PackManifest
    module: Module
    rule: Node
    effect: str
    codes: frozenset[str]
    tools: frozenset[str]


def tool_outcomes(parsed: ParsedBundle) -> dict[str, ToolOutcomes]:
    """By tool: its owner, the packs that govern it, and the codes that a call can get."""
    found = {tool: ToolOutcomes(owner=pack) for tool, pack in parsed.owners.items()}
    for pack, manifest in parsed.policy.manifests.items():
        for tool in manifest.tools:
            found.setdefault(tool, ToolOutcomes()).governed_by.append(pack)
    for each in _verdict_rules(parsed.policy):
        for tool in each.tools:
            if each.effect != "allow" or parsed.owners.get(tool) == each.manifest.pack:  # only an owner's allow counts
                getattr(found[tool], each.effect).update(each.codes)
    return dict(sorted(found.items()))


def approval_asks(parsed: ParsedBundle) -> list[ApprovalAsk]:
    """Every approval that the packs can ask for, with its terms where they are written out."""
    defaults = value_at(parsed.bundle.data, "aioc", "lib", "approval_defaults")
    sources = TermSources(parsed)
    asks: list[ApprovalAsk] = []
    for each in _verdict_rules(parsed.policy):
        if each.effect == "require_approval":
            terms = written_terms(parsed.policy, each.module, each.rule, defaults)
            computed_from = sources.of(each.module, each.rule) if terms is None else {}
            place = (each.module.file, rule_line(each.rule))
            codes, tools = tuple(sorted(each.codes)), tuple(sorted(each.tools))
            asks.append(ApprovalAsk(each.manifest.pack, codes, tools, terms, computed_from, *place))
    return asks


def _verdict_rules(policy: LintedPolicy) -> Iterator[_VerdictRule]:
    for pack, manifest in sorted(policy.manifests.items()):
        for module in policy.pack_modules(pack):
            if module.package != ("aioc", "packs", pack):
                continue
            makers = verdict_maker_names(policy, manifest, module)
            for rule in module.rules():
                if rule_name(rule) in VERDICT_SETS:
                    codes = _codes(module, rule, makers, manifest)
                    yield _VerdictRule(manifest, module, rule, rule_name(rule), codes, _tools(rule, manifest))


def _codes(module: Module, rule: Node, makers: frozenset[str], manifest: PackManifest) -> frozenset[str]:
    constructors = constructor_names(module)
    codes: set[str] = set()
    for call in calls({**rule, "else": None}):
        if call.name not in makers:
            continue
        first = call.operands[0] if call.operands else {}
        if first.get("type") == "string" and (call.name in constructors or first["value"] in manifest.codes):
            codes.add(first["value"])
        else:
            return manifest.codes
    return frozenset(codes) or manifest.codes


def _tools(rule: Node, manifest: PackManifest) -> frozenset[str]:
    tools = frozenset(manifest.tools)
    for expression in rule.get("body", []):
        terms = expression.get("terms")
        if expression.get("negated") or expression.get("with") or not isinstance(terms, list) or len(terms) != 3:  # noqa: PLR2004 - operator and two operands
            continue
        operator, left, right = dotted(terms[0]), terms[1], terms[2]
        if operator in _EQUALITY:
            for one, other in ((left, right), (right, left)):
                if _is_tool_name(one) and other["type"] == "string":
                    tools &= {other["value"]}
        elif operator == _MEMBER and _is_tool_name(left) and _is_of_strings(right):
            tools &= {member["value"] for member in right["value"]}
    return tools


def _is_tool_name(term: Node) -> bool:
    return term["type"] == "ref" and path_of(term) == _TOOL_NAME


def _is_of_strings(term: Node) -> bool:
    return term["type"] in {"set", "array"} and all(member["type"] == "string" for member in term["value"])
