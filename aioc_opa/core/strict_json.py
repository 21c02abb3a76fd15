"""Strict JSON: the one decoder for every raw string (RFC 8259, with what RFC 7493 and this project add).

Rules:

1. UTF-8 only, no byte order mark, one value, nothing after it.
2. Refused wherever they stand: duplicate keys, NaN and infinities, numbers that overflow or underflow to zero,
   integer tokens beyond ±(2^53-1), lone surrogates, unescaped control characters.
3. Bytes, depth and nodes are bounded (`JsonLimits`).
4. Nothing is repaired or guessed; the error has a code, an offset and a path, and no value.
5. The fast path below only ever *accepts*, and only where it is certain. All else, and every refusal, is
   decided by `strict_json_reference`, which is iterative. A property test holds the two together.
"""

from __future__ import annotations

import json
import re
from json import scanner
from typing import TYPE_CHECKING, Any, Final, Literal

from aioc_opa.core import strict_json_reference
from aioc_opa.core.limits import ARGUMENT_LIMITS, MAX_SAFE_INTEGER, JsonLimits
from aioc_opa.core.strict_json_error import PROBLEMS, StrictJsonError

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue

__all__ = ["PROBLEMS", "StrictJsonError", "decode", "decode_object"]

_DECLINED: Final = object()
# Without its C scanner `json` takes digits of other scripts for numbers: then the reference reads everything.
_HAS_C_SCANNER: Final = getattr(scanner, "c_make_scanner", None) is not None
_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_ZERO: Final = re.compile(r"-?0(?:\.0++)?(?:[eE][+-]?[0-9]++)?")
_LONGEST_SAFE_INTEGER: Final = len(str(-MAX_SAFE_INTEGER))
_INFINITIES: Final = (float("inf"), float("-inf"))


def decode(text: str | bytes, limits: JsonLimits = ARGUMENT_LIMITS) -> JsonValue:
    """The value of a strict JSON text.

    Args:
        text: exactly `str` or `bytes`.
        limits: of this text.

    Returns:
        A fresh value of plain types. A number with a fraction or an exponent is a `float`, any other an `int`.

    Raises:
        StrictJsonError: the text is refused; nothing else is raised for any input.
    """
    if type(text) is bytes:
        text = _from_utf8(text, limits)
    elif type(text) is not str:
        raise StrictJsonError("not_text")
    value: JsonValue = _accept(text, limits)
    return strict_json_reference.parse(text, limits) if value is _DECLINED else value


def decode_object(
    text: str | bytes, limits: JsonLimits = ARGUMENT_LIMITS, *, empty_arguments: Literal["reject", "object"] = "reject"
) -> JsonObject:
    """The object that a strict JSON text holds: a tool call's arguments.

    Args:
        text: exactly `str` or `bytes`.
        limits: of this text.
        empty_arguments: some providers send the empty text for a tool without parameters. ``"object"`` takes exactly
            the empty text, or one of JSON white space only, as ``{}``; never ``null`` and never a broken text.

    Raises:
        StrictJsonError: the text is refused, or its top level is not an object.
    """
    try:
        value = decode(text, limits)
    except StrictJsonError as error:
        if error.code != "empty_text":
            raise
        if empty_arguments == "object":
            return {}
        raise StrictJsonError("empty_arguments", error.offset) from None
    if type(value) is not dict:
        raise StrictJsonError("not_an_object", 0)
    return value


def _from_utf8(text: bytes, limits: JsonLimits) -> str:
    if len(text) > limits.max_bytes:
        raise StrictJsonError("too_large")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise StrictJsonError("invalid_utf8", error.start) from None


def _accept(text: str, limits: JsonLimits) -> Any:
    """The value, or `_DECLINED` where anything is in doubt."""
    if not _HAS_C_SCANNER:
        return _DECLINED
    try:
        if (
            # A lone surrogate in the text fails to encode, with a ValueError.
            (len(text) if text.isascii() else len(text.encode())) > limits.max_bytes
            # A node takes a character at least, so a short text cannot have too many.
            or (len(text) > limits.max_nodes and _at_most_nodes(text) > limits.max_nodes)
            or (text.count("{") + text.count("[") > limits.max_depth and _is_deeper(text, limits.max_depth))
        ):
            return _DECLINED
        value, end = _decoder.raw_decode(text, 0 if text[:1] == "{" else _end_of_blanks(text, 0))
        if end != len(text) and _end_of_blanks(text, end) != len(text):
            return _DECLINED
        if "\\u" in text and ("\\ud" in text or "\\uD" in text):
            _write_back(value).encode()  # escapes of a lone surrogate fail here
    except (ValueError, RecursionError):
        return _DECLINED
    return value


def _end_of_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return start if match is None else match.end()


def _at_most_nodes(text: str) -> int:
    """An upper bound: each key has its colon, each value is first in its container or follows a colon or a comma."""
    return 1 + text.count(":") + text.count(",") + text.count("[") + text.count("{")


def _is_deeper(text: str, max_depth: int) -> bool:
    """Whether brackets outside strings nest deeper, so that the C scanner, which recurses, never sees such a text."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        char = text[token.start()]
        if char in "[{":
            depth += 1
            if depth > max_depth:
                return True
        elif char != '"':
            depth -= 1
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError
    return value


def _integer(token: str) -> int:
    # Longer ones are never converted: that takes quadratic time, or fails at 4,300 digits.
    if len(token) > _LONGEST_SAFE_INTEGER or not -MAX_SAFE_INTEGER <= (value := int(token)) <= MAX_SAFE_INTEGER:
        raise ValueError
    return value


def _float(token: str) -> float:
    value = float(token)
    if value in _INFINITIES or (value == 0 and not _ZERO.fullmatch(token)):
        raise ValueError
    return value


def _constant(_name: str) -> float:
    raise ValueError


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
_write_back: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
