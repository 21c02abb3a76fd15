"""Random packs of the kind that authors write, and random calls for them.

Helpers, functions, `not`, `some`, `every`, `else`, comprehensions, sets and data tables over a call whose fields may be
missing or of the wrong type. Everything that a load check refuses is left out, unless its `Trap` is switched on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.differential.trap_conditions import trap_conditions
from tests.differential.values import Trap, Values

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE: Final = "aioc.packs.fuzz"
PATH: Final = "aioc/packs/fuzz/decision"

_ARGUMENTS: Final = "input.parsedArguments"
_CONTEXT: Final = "input.runContext.context"
_NUMBERS: Final = (f"{_ARGUMENTS}.amount", f"{_ARGUMENTS}.quantity", f"{_CONTEXT}.limit", "data.fuzz.limits.default")
_TEXTS: Final = (f"{_ARGUMENTS}.code", f"{_ARGUMENTS}.name", f"{_CONTEXT}.user.role", f"{_CONTEXT}.user.id")
_LISTS: Final = (f"{_ARGUMENTS}.items", f"{_CONTEXT}.bookings")
_TAGS: Final = (f"{_ARGUMENTS}.tags", f"{_CONTEXT}.user.groups", "data.fuzz.blocked")
_TABLES: Final = ("data.fuzz.limits", f"{_CONTEXT}.limits", f"{_ARGUMENTS}.options")
_OTHERS: Final = (f"{_ARGUMENTS}.flag", f"{_CONTEXT}.nowhere", f"{_ARGUMENTS}.options.deep.deeper", _ARGUMENTS)
_FIELDS: Final = ("sku", "price", "quantity", "tags", "status", "zz")

_TAIL: Final = """
default effect := "deny"

effect := "approval_required" if {
	count(deny) == 0
	count(hold) > 0
} else := "allow" if {
	count(deny) == 0
	count(allow) > 0
}

decision := {"effect": effect, "deny": deny, "hold": hold, "allow": allow}
"""

_HEADS: Final = """
deny contains "never" if false

hold contains "never" if false

allow contains "never" if false
"""


class PackGenerator:
    """Writes packs; seeded by its `Values`."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.random = values.random
        self.booleans: list[str] = []
        self.functions: list[str] = []
        self.names = 0

    def module(self) -> str:
        """The source of one pack."""
        self.booleans, self.functions, self.names = [], [], 0
        rules = [self.helper() for _ in range(self.random.randrange(2, 6))]
        rules += [self.verdict(effect) for effect in ("deny", "deny", "hold", "allow", "allow")]
        imported = "" if Trap.NOT_IMPORT in self.values.traps else "import future.keywords.not\n"
        return f"package {PACKAGE}\n\n{imported}\n" + "\n\n".join(rules) + "\n" + _HEADS + _TAIL

    def pick(self, options: tuple[Any, ...] | list[Any]) -> Any:
        """One of `options`."""
        return self.random.choice(options)

    def fresh(self, prefix: str) -> str:
        """A name that is not used yet."""
        self.names += 1
        return f"{prefix}{self.names}"

    def literal(self) -> str:
        """A constant."""
        return self.pick(
            ('"gold"', '"a"', '"code"', '""', "0", "1", "100", "-1", "2.25", "true", "false", "null", "[]", "{}")
        )

    def text_constant(self) -> str:
        """A constant text."""
        return self.pick(('"gold"', '"a"', '"A"', '"code"', '""', '"/ws"', '"12"', '"é"', '"a-b"'))

    def comparison(self) -> str:
        """An operator."""
        return self.pick(("==", "!=", "<", "<=", ">", ">="))

    def helper(self) -> str:
        """A rule that later ones may use."""
        return self.pick(
            (
                self.boolean,
                self.boolean,
                self.chain,
                self.function,
                self.value_function,
                self.collected,
                self.keyed,
                self.grouped,
            )
        )()

    def boolean(self) -> str:
        name = self.fresh("holds")
        rule = f"{name} if {{\n{self.body()}\n}}"
        if self.random.random() < 0.3:
            rule = f"default {name} := false\n\n{rule}"
        elif self.random.random() < 0.4:
            rule += f"\n\n{name} if {{\n{self.body()}\n}}"
        self.booleans.append(name)
        return rule

    def chain(self) -> str:
        name = self.fresh("level")
        rule = f"{name} := {self.literal()} if {{\n{self.body()}\n}} else := {self.literal()} if {{\n{self.body()}\n}}"
        if self.random.random() < 0.5:
            rule += f" else := {self.literal()}"
        self.booleans += [name, f"{name} == {self.literal()}"]
        return rule

    def function(self) -> str:
        name = self.fresh("fits")
        rule = f"{name}(x) if {{\n\t{self.condition_on('x')}\n\t{self.condition_on('x')}\n}}"
        if self.random.random() < 0.5:
            rule += f"\n\n{name}(x) if {self.condition_on('x')}"
        self.functions.append(name)
        return rule

    def value_function(self) -> str:
        name = self.fresh("read")
        self.functions.append(name)
        fallback = f" else := {self.literal()}" if self.random.random() < 0.5 else ""
        return f"{name}(x) := y if {{\n\t{self.condition_on('x')}\n\ty := {self.expression_on('x')}\n}}{fallback}"

    def collected(self) -> str:
        name = self.fresh("found")
        self.booleans += [f"count({name}) > 0", f"count({name}) == 0", f'"a" in {name}']
        return f"{name} contains v if {{\n\tsome e in {self.pick(_LISTS + _TAGS)}\n\t{self.condition_on('e')}\n\tv := {self.expression_on('e')}\n}}"

    def keyed(self) -> str:
        name = self.fresh("table")
        self.booleans += [f"{name}.gold {self.comparison()} {self.literal()}", f"{name}[{self.pick(_TEXTS)}]"]
        return f"{name}[k] := v if {{\n\tsome k, v in {self.pick(_TABLES)}\n\t{self.condition_on('v')}\n}}"

    def grouped(self) -> str:
        name = self.fresh("groups")
        self.booleans += [f"count({name}.a) > 1", f"{name}[{self.pick(_TEXTS)}]", f"not 1 in {name}.gold"]
        return (
            f"{name}[k] contains v if {{\n\tsome e in {self.pick(_LISTS)}\n\t{self.condition_on('e')}\n"
            f"\tk := e.sku\n\tv := {self.expression_on('e')}\n}}"
        )

    def verdict(self, effect: str) -> str:
        """One rule of a pack."""
        code = self.fresh("code")
        if Trap.PARTIAL_HEAD in self.values.traps and self.random.random() < 0.7:
            return (
                f'{effect} contains {{"code": "{code}", "item": e.sku}} if {{\n'
                f"\tsome e in {self.pick(_LISTS)}\n\t{self.condition_on('e')}\n}}"
            )
        shape = self.random.randrange(4)
        if shape == 0:
            return f'{effect} contains "{code}" if {{\n{self.body()}\n}}'
        if shape == 1:
            return f'{effect} contains v if {{\n{self.body()}\n\tv := {{"code": "{code}"}}\n}}'
        if shape == 2:
            return f'{effect} contains v if {{\n{self.body()}\n\tv := {{"code": "{code}", "seen": {self.expression_on(self.anything())}}}\n}}'
        return (
            f"{effect} contains v if {{\n\tsome e in {self.pick(_LISTS)}\n\t{self.condition_on('e')}\n"
            f'\tv := {{"code": "{code}", "item": {self.expression_on("e")}}}\n}}'
        )

    def body(self) -> str:
        """One to three conditions, a line each."""
        return "\n".join(f"\t{self.condition()}" for _ in range(self.random.choice((1, 1, 2, 2, 3))))

    def anything(self) -> str:
        """A reference, of whatever kind."""
        return self.pick(_NUMBERS + _TEXTS + _LISTS + _TAGS + _TABLES + _OTHERS)

    def condition(self) -> str:
        """One line of a body."""
        if self.values.traps and self.random.random() < 0.35 and (lines := trap_conditions(self.values)):
            return self.pick(lines)
        if self.random.random() < 0.3:
            return f"not {self.positive().removeprefix('not ')}"
        if self.random.random() < 0.2:
            return self.iteration()
        return self.positive()

    def iteration(self) -> str:
        """A line that binds or quantifies."""
        name = self.fresh("e")
        return self.pick(
            (
                f"some {name} in {self.pick(_LISTS + _TAGS)}\n\t{self.condition_on(name)}",
                f"every {name} in {self.pick(_LISTS + _TAGS)} {{\n\t\t{self.condition_on(name)}\n\t}}",
                f'some {name}, v{name} in {self.pick(_TABLES)}\n\t{self.condition_on(f"v{name}")}\n\t{name} != "a"',
                f"{name} := {self.anything()}\n\t{self.condition_on(name)}",
                f'{name} := {{t | some t in {self.pick(_TAGS)}}}\n\tcount({name} & {{"a", "gold"}}) {self.comparison()} 1',
            )
        )

    def positive(self) -> str:
        """A condition that binds nothing, and so may be negated."""
        options: list[Callable[[], str]] = [
            lambda: self.condition_on(self.pick(_NUMBERS)),
            lambda: self.condition_on(self.pick(_TEXTS)),
            lambda: self.condition_on(self.anything()),
            lambda: f"{self.pick(_TEXTS)} in {self.pick(_TAGS)}",
            lambda: f"{self.pick(_TEXTS)} in {{{self.text_constant()}, {self.text_constant()}}}",
            lambda: f"{self.pick(_TABLES)}[{self.pick(_TEXTS)}] {self.comparison()} {self.pick(_NUMBERS)}",
            lambda: f"{self.pick(_NUMBERS)} {self.comparison()} {self.pick(_NUMBERS)}",
            lambda: (
                f"count([e | some e in {self.pick(_LISTS)}; {self.condition_on('e')}]) {self.comparison()} {self.random.randrange(3)}"
            ),
            lambda: (
                f"count({{e.sku | some e in {self.pick(_LISTS)}; {self.condition_on('e')}}}) {self.comparison()} {self.random.randrange(3)}"
            ),
            lambda: (
                f"sum([round(e.price * 100) | some e in {self.pick(_LISTS)}]) {self.comparison()} {self.pick(_NUMBERS)}"
            ),
        ]
        if self.booleans:
            options += [lambda: self.pick(self.booleans)] * 4
        if self.functions:
            options += [lambda: f"{self.pick(self.functions)}({self.anything()})"] * 3
        return self.pick(options)()

    def condition_on(self, term: str) -> str:
        """A condition on a term; binds nothing. Mostly of a kind that cannot err: an error decides everything."""
        options = [self._any_condition]
        if term in _NUMBERS:
            options = [self._any_condition, self._number_condition, self._number_condition]
        elif term in _TEXTS:
            options = [self._any_condition, self._text_condition, self._text_condition]
        elif self.random.random() < 0.08:
            options = [self._number_condition, self._text_condition]
        return self.pick(options)(term)

    def _any_condition(self, term: str) -> str:
        field = self.pick(_FIELDS)
        return self.pick(
            (
                f"{term} {self.comparison()} {self.literal()}",
                f"{term}.{field} {self.comparison()} {self.literal()}",
                f"{term}.{field} {self.comparison()} {self.pick(_NUMBERS)}",
                f"not {term}.{field} == {self.literal()}",
                f"not {term}.{field}",
                f"is_string({term})",
                f"not is_number({term})",
                f"is_object({term}.{field})",
                f"not {term} in {{{self.literal()}, {self.literal()}}}",
                f"{self.text_constant()} in {term}",
                f"not {self.text_constant()} in {term}.tags",
                f"{term}[0] {self.comparison()} {self.literal()}",
                f"not {term}.{field}[0]",
                f"max([{term}, 1]) {self.comparison()} {self.literal()}",
                f'type_name({term}) == "{self.pick(("string", "object", "number"))}"',
                f"{term} == {self.anything()}",
                f"{{{term}, 1}} == {{1, {self.literal()}}}",
                f"[{term}, 1] != [{self.literal()}, 1]",
                term,
            )
        )

    def _number_condition(self, term: str) -> str:
        return self.pick(
            (
                f"round({term} * 100) {self.comparison()} 5000",
                f"{term} + 1 {self.comparison()} {self.pick(_NUMBERS)}",
                f"{term} - {self.pick(_NUMBERS)} {self.comparison()} 0",
                f"not {term} * 2 > {self.pick(_NUMBERS)}",
                f"abs({term}) {self.comparison()} 3",
                f"not {term} + 1 > 3",
            )
        )

    def _text_condition(self, term: str) -> str:
        return self.pick(
            (
                f"count({term}) {self.comparison()} {self.random.randrange(4)}",
                f"startswith({term}, {self.text_constant()})",
                f"not startswith({term}, {self.text_constant()})",
                f"contains({term}, {self.text_constant()})",
                f"not endswith({term}, {self.text_constant()})",
                f"lower({term}) == {self.text_constant()}",
                f"regex.match(`^[a-z]{{1,4}}$`, {term})",
                f"not regex.match(`[0-9]`, {term})",
                f'{self.text_constant()} in split({term}, "a")',
                f'replace({term}, "a", "b") == {self.text_constant()}',
            )
        )

    def expression_on(self, term: str) -> str:
        """A value made of a term."""
        field = self.pick(_FIELDS)
        safe = (
            term,
            f"{term}.{field}",
            f"{term}.{field}",
            f"[{term}, {self.literal()}]",
            f'{{"is": {term}.{field}}}',
            f"{{x | some x in {self.pick(_TAGS)}; x != {term}}}",
            f"[x.{field} | some x in {self.pick(_LISTS)}]",
            f"type_name({term})",
        )
        may_err = (
            f'object.get({term}, "{field}", {self.literal()})',
            f"lower({term})",
            f"count({term})",
            f'concat("-", [{term}, "a"])',
            f"[x.sku | some x in {term}]",
            f"sort({term})",
            f"object.keys({term})",
            f'split({term}, "a")',
            f"round({term})",
            f"trim_space({term})",
            f"substring({term}, 0, 2)",
        )
        return self.pick(safe if self.random.random() < 0.85 else may_err)
