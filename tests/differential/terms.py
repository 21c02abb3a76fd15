"""Conditions and values of random packs: each on one term whose type nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.differential.values import Values

ARGUMENTS: Final = "input.parsedArguments"
CONTEXT: Final = "input.runContext.context"
NUMBERS: Final = (f"{ARGUMENTS}.amount", f"{ARGUMENTS}.quantity", f"{CONTEXT}.limit", "data.fuzz.limits.default")
TEXTS: Final = (f"{ARGUMENTS}.code", f"{ARGUMENTS}.name", f"{CONTEXT}.user.role", f"{CONTEXT}.user.id")
LISTS: Final = (f"{ARGUMENTS}.items", f"{CONTEXT}.bookings")
TAGS: Final = (f"{ARGUMENTS}.tags", f"{CONTEXT}.user.groups", "data.fuzz.blocked")
TABLES: Final = ("data.fuzz.limits", f"{CONTEXT}.limits", f"{ARGUMENTS}.options")
OTHERS: Final = (f"{ARGUMENTS}.flag", f"{CONTEXT}.nowhere", f"{ARGUMENTS}.options.deep.deeper", ARGUMENTS)
FIELDS: Final = ("sku", "price", "quantity", "tags", "status", "zz")


class TermWriter:
    """Writes terms and conditions; seeded by its `Values`."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.random = values.random
        self.names = 0

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

    def anything(self) -> str:
        """A reference, of whatever kind."""
        return self.pick(NUMBERS + TEXTS + LISTS + TAGS + TABLES + OTHERS)

    def condition_on(self, term: str) -> str:
        """A condition on a term; binds nothing. Mostly of a kind that cannot err: an error decides everything."""
        options = [self._any_condition]
        if term in NUMBERS:
            options = [self._any_condition, self._number_condition, self._number_condition]
        elif term in TEXTS:
            options = [self._any_condition, self._text_condition, self._text_condition]
        elif self.random.random() < 0.08:
            options = [self._number_condition, self._text_condition]
        return self.pick(options)(term)

    def _any_condition(self, term: str) -> str:
        field = self.pick(FIELDS)
        return self.pick(
            (
                f"{term} {self.comparison()} {self.literal()}",
                f"{term}.{field} {self.comparison()} {self.literal()}",
                f"{term}.{field} {self.comparison()} {self.pick(NUMBERS)}",
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
                f"{term} + 1 {self.comparison()} {self.pick(NUMBERS)}",
                f"{term} - {self.pick(NUMBERS)} {self.comparison()} 0",
                f"not {term} * 2 > {self.pick(NUMBERS)}",
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
        field = self.pick(FIELDS)
        safe = (
            term,
            f"{term}.{field}",
            f"{term}.{field}",
            f"[{term}, {self.literal()}]",
            f'{{"is": {term}.{field}}}',
            f"{{x | some x in {self.pick(TAGS)}; x != {term}}}",
            f"[x.{field} | some x in {self.pick(LISTS)}]",
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
