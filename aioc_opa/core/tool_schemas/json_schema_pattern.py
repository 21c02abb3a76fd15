"""How much work a regular expression can be: its positions, once counted repetitions are written out.

`regex` does not backtrack, but its time is positions times text: ``[ab]*a[ab]{3000}c`` took 49 s on 200 kB. `positions`
counts literals, classes, assertions and operators, each as often as the repetitions around it say, from the text
alone; where two readings of a bracket are possible, it takes the product of all repetitions.
"""

from __future__ import annotations

import re
from typing import Final

MAX_POSITIONS: Final = 2_048
"""Of one pattern. The longest texts of ``^.{1,2000}$`` still fit the work of one call (`json_schema_weight`)."""

UNCOUNTABLE: Final = 1_000_000_000
"""Stands for that many and more."""

MAX_CHARACTERS: Final = 10_000
"""Of one pattern; a longer one counts as `UNCOUNTABLE`."""

_REPEAT: Final = re.compile(r"\{[\s0-9,]*\}")  # the engine lets blanks stand around the numbers
_NUMBER: Final = re.compile(r"[0-9]+")
_GROUP: Final = re.compile(r"\?(?:P?<[^>]{0,100}>|[A-Za-z-]{0,20}[:)])")
_VERBOSE: Final = re.compile(r"\(\?[A-Za-z-]*x")
_BRACED: Final = re.compile(r"\\[xuUpP]\{[^}]{0,100}\}")
_CLASS: Final = re.compile(r"\[(?:\^(?!\])|(?!\^))(?:[^\]\[\\]|\\.)+\]", re.DOTALL)
"""A class that ECMAScript and Rust end at the same bracket: not empty, and no bracket in it is bare."""


def positions(pattern: str) -> int:
    """The positions of `pattern`, or more; at most `UNCOUNTABLE`."""
    if len(pattern) > MAX_CHARACTERS or _VERBOSE.search(pattern):  # ``(?x)``: comments may stand anywhere
        return UNCOUNTABLE
    # One sum for each group that is open; `last` is what a repetition that follows would apply to.
    sums, last, at = [0], 0, 0
    while at < len(pattern):
        character = pattern[at]
        here, at = at, at + 1
        if character in "*+?":
            last += 1
        elif character == "{" and (repeat := _REPEAT.match(pattern, here)):
            last, at = min(_times(repeat) * max(last, 1) + 1, UNCOUNTABLE), repeat.end()
        elif character == "(":
            sums[-1], last = sums[-1] + last, 0
            group = _GROUP.match(pattern, at)
            at = group.end() if group else at
            if not (group and group[0].endswith(")")):  # ``(?i)`` opens nothing
                sums.append(0)
        elif character == ")" and len(sums) > 1:
            last = min(sums.pop() + last + 1, UNCOUNTABLE)
        else:
            sums[-1], last = sums[-1] + last, 1
            if character == "[":
                found = _CLASS.match(pattern, here)
                if not found:
                    return _product(pattern)
                at = found.end()
            elif character == "\\":
                braced = _BRACED.match(pattern, here)
                at = braced.end() if braced else here + 2
    return min(sum(sums) + last, UNCOUNTABLE)


def _times(repeat: re.Match[str]) -> int:
    # Nine digits are more than any limit; the engine refuses them too.
    return max([int(number.lstrip("0")[:9] or "1") for number in _NUMBER.findall(repeat[0])], default=1)


def _product(pattern: str) -> int:
    total = len(pattern)
    for repeat in _REPEAT.finditer(pattern):
        total = min(total * (_times(repeat) + 1), UNCOUNTABLE)
    return total


def utf8_length(text: str) -> int:
    """Bytes that the engine reads."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
