"""Lint rule for what a verdict is made of: nothing that can be undefined, and nothing that a call says.

``verdict := verdicts.deny_because("x", concat("", ["no ", input.parsedArguments.path]))`` is undefined when a call has
no path: both engines lose the deny, and where it is kept the text shows an argument to whoever reads public reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from aioc_opa.packs.lint.finding import Finding
from aioc_opa.packs.lint.linted import rule_line, rule_name
from aioc_opa.packs.lint.module_rules import VERDICT_SETS
from aioc_opa.packs.lint.rego_tree import calls, dotted, path_of, variables
from aioc_opa.packs.routes_data import namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.core.json_value import JsonValue
    from aioc_opa.packs.lint.linted import LintedPolicy, Module
    from aioc_opa.packs.lint.rego_tree import Call, Node, Path
    from aioc_opa.packs.pack_manifest import PackManifest

CONSTRUCTORS: Final = frozenset({"deny", "deny_because", "hold", "hold_with", "allow"})
LIBRARY: Final = ("data", "aioc", "lib", "verdicts")
TERM_MAKERS: Final = frozenset({"by", "by_persons", "within", "requester_may_approve"})
TERMS_LIBRARY: Final = ("data", "aioc", "lib", "approvals")

_MEMBERS: Final = frozenset({"internal.member_2", "internal.member_3"})
_ALWAYS_THERE: Final = ("input", "toolName")
_SCALARS: Final = frozenset({"string", "number", "boolean", "null"})

_RuleKey: TypeAlias = tuple[tuple[str, ...], str]


def constructor_names(module: Module) -> frozenset[str]:
    """The constructors of verdicts, as `module` would call them."""
    return _called(module, LIBRARY, CONSTRUCTORS)


def term_maker_names(module: Module) -> frozenset[str]:
    """The helpers that make the terms of an approval, as `module` would call them."""
    return _called(module, TERMS_LIBRARY, TERM_MAKERS)


def _called(module: Module, library: tuple[str, ...], functions: frozenset[str]) -> frozenset[str]:
    names = [name for name, path in module.imports().items() if path == library]
    return frozenset(f"{name}.{function}" for name in [*names, ".".join(library)] for function in functions)


def verdict_maker_names(policy: LintedPolicy, manifest: PackManifest, module: Module) -> frozenset[str]:
    """Names under which `module` makes verdicts: the constructors, and functions of its package that end in one."""
    return _Origins.of(policy, manifest).makers(module)


def verdict_computed(policy: LintedPolicy, manifest: PackManifest) -> Iterator[Finding]:
    """What constructors are given, and what enters a verdict set, is constant or comes from declared, required data.

    Variables are followed to what binds them, and rules and functions of the pack into their bodies. `input.toolName`
    may choose from a table: it is there in every call.
    """
    origins = _Origins.of(policy, manifest)
    for module in policy.pack_modules(manifest.pack):
        makers = origins.makers(module)
        lines: set[int] = set()
        for rule in module.rules():
            alone = {**rule, "else": None}
            made: list[Call] = [call for call in calls(alone) if call.name in makers]
            lines.update(
                call.line for call in made if not all(origins.sound(module, rule, each) for each in call.operands)
            )
            head = rule["head"]
            if rule_name(rule) in VERDICT_SETS and "key" in head and not origins.sound(module, rule, head["key"]):
                lines.add(next((call.line for call in made), rule_line(rule)))
        for line in sorted(lines):
            yield Finding(
                module.file,
                line,
                "verdict-computed",
                "a verdict is made of something that can be undefined, or that a call says; undefined, it is lost",
                "give constructors constants, or data that the manifest requires",
            )


@dataclass(slots=True)
class _Origins:
    """Where values in a pack come from.

    Attributes:
        manifest: the pack's.
        above: every path of ``data`` at or above a package.
        rules: by package and name, each rule with its module.
        known: verdicts on rules so far; one that is being looked at counts as sound, so that recursion ends.
    """

    manifest: PackManifest
    above: frozenset[tuple[str, ...]]
    rules: dict[_RuleKey, list[tuple[Module, Node]]] = field(default_factory=dict)
    known: dict[_RuleKey, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, policy: LintedPolicy, manifest: PackManifest) -> _Origins:
        """Of one pack."""
        packages = [module.package for module in policy.modules.values() if not module.is_test]
        found = cls(manifest, namespaces(packages))
        for module in policy.pack_modules(manifest.pack):
            for rule in module.rules():
                found.rules.setdefault((module.package, rule_name(rule)), []).append((module, rule))
        return found

    def makers(self, module: Module) -> frozenset[str]:
        """Names under which `module` makes verdicts: constructors, and functions of its package that end in one."""
        names = constructor_names(module)
        while True:
            more = {
                name
                for (package, name), rules in self.rules.items()
                if package == module.package
                and any(
                    "args" in rule["head"] and any(call.name in names for call in calls({**rule, "else": None}))
                    for _, rule in rules
                )
            }
            if more <= names:
                return names
            names |= more

    def sound(self, module: Module, rule: Node, term: Node, seen: frozenset[str] = frozenset()) -> bool:
        """Whether `term` in `rule` is always defined, and says nothing of a call."""
        kind = term["type"]
        if kind in _SCALARS:
            return True
        if kind in {"array", "set"}:
            return all(self.sound(module, rule, part, seen) for part in term["value"])
        if kind == "object":
            return all(self.sound(module, rule, part, seen) for pair in term["value"] for part in pair)
        if kind == "call":
            operator, *operands = term["value"]
            makes = dotted(operator) in self.makers(module) | term_maker_names(module) | {"object.union"}
            return makes and all(self.sound(module, rule, each, seen) for each in operands)
        if kind == "var":
            return self._sound_name(module, rule, term["value"], seen)
        return kind == "ref" and self._sound_reference(module, rule, term, seen)

    def _sound_name(self, module: Module, rule: Node, name: str, seen: frozenset[str]) -> bool:
        if name in seen:  # bound to itself through another name
            return True
        if any(name in variables(argument) for argument in rule["head"].get("args", [])):
            return True  # its calls are looked at
        imported = module.imports().get(name)
        # `:=` and `some` hide a rule's name, `=` compares with it.
        global_name = imported is not None or (module.package, name) in self.rules
        origins = list(_bound_to(rule, name, unified=not global_name))
        if origins:
            return all(self.sound(module, rule, origin, seen | {name}) for origin in origins)
        return self._sound_rule((module.package, name)) if imported is None else self._sound_data(imported)

    def _sound_reference(self, module: Module, rule: Node, ref: Node, seen: frozenset[str]) -> bool:
        head, *segments = ref["value"]
        if path_of(ref) == _ALWAYS_THERE:
            return True
        if head["type"] != "var" or not all(self.sound(module, rule, segment, seen) for segment in segments):
            return False
        path = path_of(ref)
        if path[0] in module.imports():
            path = (*module.imports()[path[0]], *path[1:])
        if path[0] == "input":
            return False
        return self._sound_data(path) if path[0] == "data" else self._sound_name(module, rule, path[0], seen)

    def _sound_data(self, path: Path) -> bool:
        """A rule of the pack, the library, or data that is there because the manifest requires it."""
        if path[0] != "data":
            return False
        below = path[1:]
        for package, name in self.rules:
            if below[: len(package) + 1] == (*package, name):
                return self._sound_rule((package, name))
        return below[:2] == ("aioc", "lib") or self._is_required(below)

    def _is_required(self, path: Path) -> bool:
        schema: JsonValue = self.manifest.data
        for depth, segment in enumerate(path, start=1):
            if not isinstance(schema, dict):
                return False
            if not isinstance(segment, str):
                return True  # an entry of a table that is there
            required, properties = schema.get("required", []), schema.get("properties", {})
            if not isinstance(properties, dict) or not isinstance(required, list):  # check_needs_schema has refused it
                return False
            if path[:depth] not in self.above and segment not in required:
                return False
            schema = properties.get(segment, {})
        return True

    def _sound_rule(self, key: _RuleKey) -> bool:
        if key not in self.rules:
            return False
        if key not in self.known:
            self.known[key] = True
            values = [
                (module, rule, rule["head"].get("key", rule["head"].get("value"))) for module, rule in self.rules[key]
            ]
            self.known[key] = all(value is None or self.sound(module, rule, value) for module, rule, value in values)
        return self.known[key]


def _bound_to(rule: Node, name: str, *, unified: bool) -> Iterator[Node]:
    """The terms that the body binds `name` to, or takes it from; with `unified`, by ``=`` as well."""
    for call in calls({**rule, "else": None}):
        *patterns, value = call.operands
        if call.name == "assign" or call.name in _MEMBERS:
            if any(_names(pattern, name) for pattern in patterns):
                yield value
        elif call.name == "eq" and unified and len(patterns) == 1:
            if _names(patterns[0], name):
                yield value
            elif _names(value, name):
                yield patterns[0]


def _names(pattern: Node, name: str) -> bool:
    return pattern["type"] in {"var", "array"} and name in variables(pattern)
