"""Random packs of the kind that authors write, and random calls for them.

Helpers, functions, `not`, `some`, `every`, `else`, comprehensions, sets and data tables over a call whose fields may be
missing or of the wrong type. Everything that a load check refuses is left out, unless its `Trap` is switched on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.terms import LISTS, NUMBERS, TABLES, TAGS, TEXTS, TermWriter
from tests.differential.trap_conditions import trap_conditions
from tests.differential.values import Trap, Values

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE: Final = "aioc.packs.fuzz"
PATH: Final = "aioc/packs/fuzz/decision"

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


class PackGenerator(TermWriter):
    """Writes packs; seeded by its `Values`."""

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self.booleans: list[str] = []
        self.functions: list[str] = []

    def module(self) -> str:
        """The source of one pack."""
        self.booleans, self.functions, self.names = [], [], 0
        rules = [self.helper() for _ in range(self.random.randrange(2, 6))]
        rules += [self.verdict(effect) for effect in ("deny", "deny", "hold", "allow", "allow")]
        imported = "" if Trap.NOT_IMPORT in self.values.traps else "import future.keywords.not\n"
        return f"package {PACKAGE}\n\n{imported}\n" + "\n\n".join(rules) + "\n" + _HEADS + _TAIL

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
        return f"{name} contains v if {{\n\tsome e in {self.pick(LISTS + TAGS)}\n\t{self.condition_on('e')}\n\tv := {self.expression_on('e')}\n}}"

    def keyed(self) -> str:
        name = self.fresh("table")
        self.booleans += [f"{name}.gold {self.comparison()} {self.literal()}", f"{name}[{self.pick(TEXTS)}]"]
        return f"{name}[k] := v if {{\n\tsome k, v in {self.pick(TABLES)}\n\t{self.condition_on('v')}\n}}"

    def grouped(self) -> str:
        name = self.fresh("groups")
        self.booleans += [f"count({name}.a) > 1", f"{name}[{self.pick(TEXTS)}]", f"not 1 in {name}.gold"]
        return (
            f"{name}[k] contains v if {{\n\tsome e in {self.pick(LISTS)}\n\t{self.condition_on('e')}\n"
            f"\tk := e.sku\n\tv := {self.expression_on('e')}\n}}"
        )

    def verdict(self, effect: str) -> str:
        """One rule of a pack."""
        code = self.fresh("code")
        if Trap.PARTIAL_HEAD in self.values.traps and self.random.random() < 0.7:
            return (
                f'{effect} contains {{"code": "{code}", "item": e.sku}} if {{\n'
                f"\tsome e in {self.pick(LISTS)}\n\t{self.condition_on('e')}\n}}"
            )
        shape = self.random.randrange(4)
        if shape == 0:
            body = self.body()
            if "some " in body or "[_]" in body:  # a constant head over several solutions is refused at load
                return f'{effect} contains v if {{\n{body}\n\tv := "{code}"\n}}'
            return f'{effect} contains "{code}" if {{\n{body}\n}}'
        if shape == 1:
            return f'{effect} contains v if {{\n{self.body()}\n\tv := {{"code": "{code}"}}\n}}'
        if shape == 2:
            return f'{effect} contains v if {{\n{self.body()}\n\tv := {{"code": "{code}", "seen": {self.expression_on(self.anything())}}}\n}}'
        return (
            f"{effect} contains v if {{\n\tsome e in {self.pick(LISTS)}\n\t{self.condition_on('e')}\n"
            f'\tv := {{"code": "{code}", "item": {self.expression_on("e")}}}\n}}'
        )

    def body(self) -> str:
        """One to three conditions, a line each."""
        return "\n".join(f"\t{self.condition()}" for _ in range(self.random.choice((1, 1, 2, 2, 3))))

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
                f"some {name} in {self.pick(LISTS + TAGS)}\n\t{self.condition_on(name)}",
                f"every {name} in {self.pick(LISTS + TAGS)} {{\n\t\t{self.condition_on(name)}\n\t}}",
                f'some {name}, v{name} in {self.pick(TABLES)}\n\t{self.condition_on(f"v{name}")}\n\t{name} != "a"',
                f"{name} := {self.anything()}\n\t{self.condition_on(name)}",
                f'{name} := {{t | some t in {self.pick(TAGS)}}}\n\tcount({name} & {{"a", "gold"}}) {self.comparison()} 1',
            )
        )

    def positive(self) -> str:
        """A condition that binds nothing, and so may be negated."""
        options: list[Callable[[], str]] = [
            lambda: self.condition_on(self.pick(NUMBERS)),
            lambda: self.condition_on(self.pick(TEXTS)),
            lambda: self.condition_on(self.anything()),
            lambda: f"{self.pick(TEXTS)} in {self.pick(TAGS)}",
            lambda: f"{self.pick(TEXTS)} in {{{self.text_constant()}, {self.text_constant()}}}",
            lambda: f"{self.pick(TABLES)}[{self.pick(TEXTS)}] {self.comparison()} {self.pick(NUMBERS)}",
            lambda: f"{self.pick(NUMBERS)} {self.comparison()} {self.pick(NUMBERS)}",
            lambda: (
                f"count([e | some e in {self.pick(LISTS)}; {self.condition_on('e')}]) {self.comparison()} {self.random.randrange(3)}"
            ),
            lambda: (
                f"count({{e.sku | some e in {self.pick(LISTS)}; {self.condition_on('e')}}}) {self.comparison()} {self.random.randrange(3)}"
            ),
            lambda: (
                f"sum([round(e.price * 100) | some e in {self.pick(LISTS)}]) {self.comparison()} {self.pick(NUMBERS)}"
            ),
        ]
        if self.booleans:
            options += [lambda: self.pick(self.booleans)] * 4
        if self.functions:
            options += [lambda: f"{self.pick(self.functions)}({self.anything()})"] * 3
        return self.pick(options)()
