r"""Difference 4: the syntax of regular expressions that Go's RE2 and Rust's `regex` read alike.

A closed grammar: what is not in it is refused, whatever it means.

    pattern   = branch *("|" branch)
    branch    = *(atom [quantifier])
    atom      = "^" | "$" | "." | literal | escape | class | "(" ["?:"] pattern ")"
    quantifier= ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}") ["?"]
    class     = "[" ["^"] 1*(char ["-" char]) "]"
    escape    = "\" punctuation | "\n" | "\r" | "\t" | "\xHH" below 80

So neither `\d \w \s \b` (Unicode in Rust, ASCII in Go) nor `[a&&b]`, `[a--b]`, `\Q…\E`, `\pL`, `[[:alpha:]]`, `(?i)`,
`a**` or `{,5}`; repetitions multiply to 1000 at most, where Go stops.
"""

from __future__ import annotations

import re
from typing import Final

_MAX_REPEAT: Final = 1000
_PUNCTUATION: Final = frozenset(r".\+*?()|[]{}^$-/")
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{([0-9]{1,4})(?:,([0-9]{1,4})?)?\})\??")
_HEX: Final = re.compile(r"x[0-7][0-9A-Fa-f]")
_CLASS_LITERAL_REFUSED: Final = frozenset("[&~")


class RegexSyntaxError(ValueError):
    """A pattern outside the common grammar; the message says what and where."""


def check_pattern(pattern: str) -> None:
    """Raise `RegexSyntaxError` unless both engines read `pattern` alike."""
    reader = _Reader(pattern)
    reader.alternation(1)
    if reader.at < len(pattern):
        reader.fail("an unmatched `)`")


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def fail(self, what: str) -> None:
        raise RegexSyntaxError(f"{what} at character {self.at}")

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def alternation(self, depth: int) -> int:
        """Read branches up to the closing parenthesis; the largest product of repetitions inside."""
        if depth > 20:  # noqa: PLR2004 - far below the nesting limits of both engines (1000 and 250)
            self.fail("groups nested too deeply")
        largest = 1
        while (char := self.peek()) and char != ")":
            if char == "|":
                self.at += 1
                continue
            inner = self.atom(depth)
            largest = max(largest, self.quantifier(inner, quantifiable=char not in "^$"))
        return largest

    def quantifier(self, inner: int, *, quantifiable: bool) -> int:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            if self.peek() == "{":
                self.fail("a `{` that is no repetition (write `\\{`)")
            return inner
        if not quantifiable:
            self.fail("a repeated anchor")
        low, high = match.groups()
        times = int(high or low or 1)
        if inner * times > _MAX_REPEAT or (high and int(high) < int(low)):
            self.fail("a repetition that Go refuses")
        self.at = match.end()
        if _QUANTIFIER.match(self.pattern, self.at):
            self.fail("a repeated repetition")
        return inner * max(times, 1)

    def atom(self, depth: int) -> int:
        char = self.take()
        if char == "(":
            return self.group(depth)
        if char == "[":
            self.character_class()
        elif char == "\\":
            self.escape()
        elif char in "*+?{":
            self.at -= 1
            self.fail("a repetition of nothing")
        return 1

    def group(self, depth: int) -> int:
        if self.peek() == "?":
            if self.pattern[self.at : self.at + 2] != "?:":
                self.fail("a flag or named group")
            self.at += 2
        inner = self.alternation(depth + 1)
        if self.take() != ")":
            self.fail("an unmatched `(`")
        return inner

    def escape(self) -> int:
        """Read what follows a backslash; the code point."""
        if _HEX.match(self.pattern, self.at):
            self.at += 3
            return int(self.pattern[self.at - 2 : self.at], 16)
        char = self.take()
        if char not in _PUNCTUATION and char not in set("nrt"):
            self.at -= 1
            self.fail(f"`\\{char}` (write a class such as [0-9])")
        return ord({"n": "\n", "r": "\r", "t": "\t"}.get(char, char or "\\"))

    def character_class(self) -> None:
        if self.peek() == "^":
            self.at += 1
        empty = True
        while (char := self.take()) != "]":
            if not char:
                self.fail("an unmatched `[`")
            if char in _CLASS_LITERAL_REFUSED:
                self.at -= 1
                self.fail(f"`{char}` in a class (escape it, or leave it out)")
            low = self.class_member(char)
            empty = False
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in {"]", ""}:
                self.at += 1
                if self.peek() == "-" or self.class_member(self.take()) < low:
                    self.fail("a range that is none")
        if empty:
            self.at -= 1
            self.fail("an empty class (or one that begins with `]`)")

    def class_member(self, char: str) -> int:
        if char == "[":
            self.at -= 1
            self.fail("`[` in a class (escape it)")
        if char == "\\":
            return self.escape()
        return ord(char)
