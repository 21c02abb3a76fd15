"""Random JSON values of the kind that tool calls hold: missing, wrongly typed, odd, but in the embedded engine's range.

A `Trap` is one numbered difference of the engines that the generators steer around. Switching one on takes the
detour away, so that a test can show that the fuzz would find it.
"""

from __future__ import annotations

import random
import string
from enum import IntEnum
from typing import Any, Final

MISSING: Final = object()


class Trap(IntEnum):
    """The differences that load checks and generators know, numbered as in the comments of `rego_guard`."""

    NOT_IMPORT = 0
    PARTIAL_HEAD = 1
    FRACTIONS = 2
    LARGE_NUMBERS = 3
    REGEX = 4
    STRINGS = 5
    VALUE_WHERE_OPA_ERRS = 6
    ANOTHER_VALUE = 7
    PANIC = 8
    OBJECT_PATTERN = 9


_WORDS: Final = (
    "",
    "a",
    "b",
    "ab",
    "A",
    "aB",
    "code",
    "gold",
    "silver",
    "economy",
    "a-b",
    "a.b",
    "/ws/x",
    "1",
    "12",
    " a ",
    "x y",
)
_ODD: Final = (
    "é",
    "Ä",
    "ß",
    "一二",
    "a\tb",
    "a\nb",
    '"',
    "\\",
    "null",
    "<undefined>",
    "data.x",
    "*",
    "[0-9]",
    "${x}",
    "%d",
)
_TRAP_STRINGS: Final = ("😀", "a😀b", "İ", "ſ", "ǅ", "ŉ", "ΑΣ", "１２３４", "2024", "\u212a")
_NUMBERS: Final = (0, 1, -1, 2, 3, 5, 10, 100, 255, 1000, -5, 0.5, 1.5, 2.25, -0.75, 2**31, 2**40)
_TRAP_FRACTIONS: Final = (0.1, 0.2, 0.3, 255.005, 255.0, 1.1, 0.7, 1.005)
_TRAP_LARGE: Final = (2**53 + 1, 2**63, 1e300, 1e21, 2**53 - 1, 9007199254740993)


class Values:
    """A seeded source of values."""

    def __init__(self, seed: int, traps: frozenset[Trap] = frozenset()) -> None:
        self.random: Final = random.Random(seed)  # noqa: S311 - the seed makes a run repeatable
        self.traps: Final = traps

    def number(self) -> int | float:
        """A number that both engines hold exactly, unless a trap is on."""
        pool: list[int | float] = list(_NUMBERS)
        if Trap.FRACTIONS in self.traps:
            pool += _TRAP_FRACTIONS * 3
        if Trap.LARGE_NUMBERS in self.traps:
            pool += _TRAP_LARGE * 3
        return self.random.choice(pool)

    def text(self) -> str:
        """A string: a word, an odd one, or random letters."""
        roll = self.random.random()
        if Trap.STRINGS in self.traps and roll < 0.4:
            return self.random.choice(_TRAP_STRINGS)
        if roll < 0.7:
            return self.random.choice(_WORDS)
        if roll < 0.9:
            return self.random.choice(_ODD)
        return "".join(
            self.random.choice(string.ascii_letters + string.digits + " _-./") for _ in range(self.random.randrange(9))
        )

    def scalar(self) -> Any:
        """Any scalar."""
        return self.random.choice(
            (self.number, self.text, self.text, lambda: self.random.random() < 0.5, lambda: None)
        )()

    def array(self, depth: int = 2) -> list[Any]:
        """An array, often of one kind."""
        size = self.random.choice((0, 1, 1, 2, 3, 4))
        if self.random.random() < 0.7:
            make = self.random.choice((self.number, self.text))
            return [make() for _ in range(size)]
        return [self.any(depth - 1) for _ in range(size)]

    def object(self, depth: int = 2) -> dict[str, Any]:
        """An object with few, likely keys."""
        keys = self.random.sample(("a", "b", "c", "id", "n", "x y", "é"), self.random.randrange(4))
        return {key: self.any(depth - 1) for key in keys}

    def any(self, depth: int = 2) -> Any:
        """Anything."""
        if depth <= 0 or self.random.random() < 0.5:
            return self.scalar()
        return self.random.choice((self.array, self.object))(depth)
