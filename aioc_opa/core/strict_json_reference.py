"""The reference parser of strict JSON: slow, iterative, and the only one that refuses.

It reads left to right once, keeps its own stack, and does work in proportion to the text: patterns are possessive,
nothing is matched twice, and integers that are too long are not converted.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from aioc_opa.core.json_path import path_key
from aioc_opa.core.limits import MAX_SAFE_INTEGER, JsonLimits
from aioc_opa.core.strict_json_error import StrictJsonError

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonValue

_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
_NUMBER: Final = re.compile(r"(-?+(?:0|[1-9][0-9]*+))(\.[0-9]++)?+([eE][+-]?+[0-9]++)?+")
_NON_FINITE: Final = re.compile(r"[+-]?+(?:NaN|Infinity|inf|nan)")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*+')
_HEX4: Final = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final[tuple[tuple[str, bool | None], ...]] = (("true", True), ("false", False), ("null", None))
_NO_VALUE: Final = {"": "unexpected_end", "'": "single_quoted", "+": "invalid_number", ".": "invalid_number"}
_NO_KEY: Final = {"": "unexpected_end", "'": "single_quoted"}
_SURROGATES: Final = range(0xD800, 0xE000)
_HIGH_SURROGATES: Final = range(0xD800, 0xDC00)
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)
_MAX_SAFE_DIGITS: Final = len(str(MAX_SAFE_INTEGER))


def parse(text: str, limits: JsonLimits) -> JsonValue:
    """The value of `text`, or why there is none.

    Raises:
        StrictJsonError: any text that is not strict JSON within `limits`.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.max_bytes:
        raise StrictJsonError("too_large")
    if text.startswith("\ufeff"):
        raise StrictJsonError("byte_order_mark", 0)
    return _Parser(text, limits).document()


class _Parser:
    """One reading of one text. `containers` are open, outermost first; `keys` has the key being filled in each."""

    __slots__ = ("containers", "keys", "limits", "nodes", "position", "text")

    def __init__(self, text: str, limits: JsonLimits) -> None:
        self.text = text
        self.limits = limits
        self.position = 0
        self.nodes = 0
        self.containers: list[list[JsonValue] | dict[str, JsonValue]] = []
        self.keys: list[str | None] = []

    def document(self) -> JsonValue:
        self._skip_blanks()
        if self.position == len(self.text):
            raise self._error("empty_text", 0)
        while True:
            char = self._peek()
            if char in ("{", "["):
                if not self._opened_empty(char):
                    continue
                value = self._close()
            else:
                value = self._scalar(char)
            while self.containers:
                self._attach(value)
                if not self._at_end_of_container():
                    break
                value = self._close()
            else:
                self._skip_blanks()
                if self.position != len(self.text):
                    raise self._error("trailing_text")
                return value

    # -- containers

    def _opened_empty(self, char: str) -> bool:
        """Open a container and go to its first value; True when it has none."""
        self._count_node()
        if len(self.containers) >= self.limits.max_depth:
            raise self._error("too_deep")
        self.position += 1
        self.containers.append({} if char == "{" else [])
        self.keys.append(None)
        self._skip_blanks()
        if self._peek() == ("}" if char == "{" else "]"):
            self.position += 1
            return True
        if char == "{":
            self._key()
        return False

    def _attach(self, value: JsonValue) -> None:
        container, key = self.containers[-1], self.keys[-1]
        if isinstance(container, list):
            container.append(value)
        elif key is not None:
            container[key] = value

    def _at_end_of_container(self) -> bool:
        """After an element: True behind the closing bracket, else at the next element's value."""
        self._skip_blanks()
        in_object = isinstance(self.containers[-1], dict)
        closer = "}" if in_object else "]"
        char = self._peek()
        if char == closer:
            self.position += 1
            return True
        if char != ",":
            raise self._error("unexpected_character" if char else "unexpected_end")
        comma = self.position
        self.position += 1
        self._skip_blanks()
        if self._peek() == closer:
            raise self._error("trailing_comma", comma)
        if in_object:
            self._key()
        return False

    def _close(self) -> JsonValue:
        self.keys.pop()
        return self.containers.pop()

    def _key(self) -> None:
        """Read a key and its colon; leave the position at the value."""
        start = self.position
        self.keys[-1] = None
        char = self._peek()
        if char != '"':
            raise self._error(_NO_KEY.get(char, "unquoted_key"))
        self._count_node()
        key = self._string()
        self.keys[-1] = key
        if key in self.containers[-1]:
            raise self._error("duplicate_key", start)
        self._skip_blanks()
        if (char := self._peek()) != ":":
            raise self._error("unexpected_character" if char else "unexpected_end")
        self.position += 1
        self._skip_blanks()

    # -- scalars

    def _scalar(self, char: str) -> JsonValue:
        self._count_node()
        if char == '"':
            return self._string()
        if char and char in "-0123456789":
            return self._number()
        for word, value in _LITERALS:
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        raise self._error(self._why_no_value(char))

    def _why_no_value(self, char: str) -> str:
        if _NON_FINITE.match(self.text, self.position):
            return "non_finite_number"
        return _NO_VALUE.get(char, "unexpected_character")

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.position)
        if match is None:  # a minus without digits
            raise self._error("non_finite_number" if _NON_FINITE.match(self.text, self.position) else "invalid_number")
        after = self.text[match.end() : match.end() + 1]
        if after and after in "0123456789.eE+-":
            raise self._error("invalid_number")  # 01, 1., 1e, 1.e5, 1-2
        whole, fraction, exponent = match.groups()
        if fraction is None and exponent is None:
            if len(whole.lstrip("-")) > _MAX_SAFE_DIGITS or abs(int(whole)) > MAX_SAFE_INTEGER:
                raise self._error("integer_out_of_range")
            self.position = match.end()
            return int(whole)
        number = float(match.group())
        if math.isinf(number):
            raise self._error("number_overflow")
        if number == 0 and (whole + (fraction or "")).strip("-0."):
            raise self._error("number_underflow")
        self.position = match.end()
        return number

    def _string(self) -> str:
        """The string whose opening quote is at the position."""
        self.position += 1
        parts: list[str] = []
        while True:
            if plain := _PLAIN.match(self.text, self.position):
                parts.append(plain.group())
                self.position = plain.end()
            char = self._peek()
            if char == '"':
                self.position += 1
                return "".join(parts)
            if char == "\\":
                parts.append(self._escape())
            elif char == "":
                raise self._error("unexpected_end")
            else:
                raise self._error("unescaped_control_character" if char < " " else "lone_surrogate")

    def _escape(self) -> str:
        start = self.position
        letter = self.text[start + 1 : start + 2]
        if letter in _ESCAPES:
            self.position += 2
            return _ESCAPES[letter]
        code = self._unicode_escape(start)
        if code is None:
            raise self._error("invalid_escape" if letter else "unexpected_end")
        self.position += 6
        if code not in _SURROGATES:
            return chr(code)
        low = self._unicode_escape(self.position)
        if code not in _HIGH_SURROGATES or low is None or low not in _LOW_SURROGATES:
            raise self._error("lone_surrogate", start)
        self.position += 6
        return chr(0x10000 + (_HIGH_SURROGATES.index(code) << 10) + _LOW_SURROGATES.index(low))

    def _unicode_escape(self, start: int) -> int | None:
        r"""The code unit of the ``\uXXXX`` at `start`, if there is one."""
        if self.text.startswith("\\u", start) and (digits := _HEX4.match(self.text, start + 2)):
            return int(digits.group(), 16)
        return None

    # -- common

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip_blanks(self) -> None:
        if match := _BLANKS.match(self.text, self.position):
            self.position = match.end()

    def _count_node(self) -> None:
        self.nodes += 1
        if self.nodes > self.limits.max_nodes:
            raise self._error("too_many_nodes")

    def _error(self, code: str, offset: int | None = None) -> StrictJsonError:
        path: list[str | int] = []
        for container, key in zip(self.containers, self.keys, strict=True):
            if isinstance(container, list):
                path.append(len(container))
            elif key is not None:
                path.append(path_key(key))
        return StrictJsonError(code, self.position if offset is None else offset, tuple(path))
