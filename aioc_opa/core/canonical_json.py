"""RFC 8785 text: one value, one text, whoever writes it.

Rules:

1. Only exact types have a canonical form: None, bool, int within ±(2^53-1), finite float, str without lone
   surrogates, list or tuple, dict with str keys. A subclass may answer otherwise than its base says, so it is refused.
2. 1 and 1.0 are one value, and so are 0 and -0 (RFC 8785 section 3.2.2.3 writes both alike).
3. What is written is a private copy: a container that another thread changes meanwhile gives either the text of
   one walk over it or a `NotCanonicalError`, never a text that was not checked.
4. Depth is bounded (`HARD_MAX_DEPTH`), which catches cycles, and so is size (`HARD_MAX_NODES`), which catches
   containers that share parts over and over.
5. The library `rfc8785` is the reference. The C encoder of `json` stands in where both write the same bytes:
   keys are ASCII (code points order like UTF-16 units, section 3.2.3), integers are safe, every float's `repr` is
   its ECMAScript form, and strings are escaped alike (section 3.2.2.2). A property test compares the two.
"""

from __future__ import annotations

import json
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined] # typeshed leaves it out
from typing import TYPE_CHECKING, Final, NoReturn

import rfc8785

from aioc_opa.core.json_path import path_key
from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, MAX_SAFE_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.core.json_value import JsonObject, JsonValue


class NotCanonicalError(ValueError):
    """A value has no canonical JSON form.

    Attributes:
        path: keys and indexes from the root.
        problem: what is wrong and what to do instead, without the value.
    """

    def __init__(self, path: tuple[str | int, ...], problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def compact_encoder(*, sort_keys: bool) -> Callable[[object], str]:
    """An encoder without white space, for values whose types and depth the caller has checked (no cycles).

    `json.JSONEncoder.encode` builds its C encoder anew for each value; this keeps one, where there is the C module.

    Args:
        sort_keys: by code point, which is the order of RFC 8785 section 3.2.3 for ASCII keys.
    """
    if c_make_encoder is None:
        encoder = json.JSONEncoder(
            ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False, check_circular=False
        )
        return encoder.encode
    # markers, default, encoder, indent, key_separator, item_separator, sort_keys, skipkeys, allow_nan
    chunks = c_make_encoder(None, _no_default, encode_basestring, None, ":", ",", sort_keys, False, False)
    join = "".join

    def encode(value: object) -> str:
        return join(chunks(value, 0))

    return encode


def _no_default(_value: object) -> NoReturn:
    raise ValueError


_encode: Final = compact_encoder(sort_keys=True)


def float_is_simple(number: float) -> bool:
    """Whether `repr(number)` is the ECMAScript form that RFC 8785 section 3.2.2.3 asks for.

    Python uses an exponent from 1e16 on and below 1e-4, ECMAScript from 1e21 on and below 1e-6, and integral
    floats end in ``.0`` here. False for those, for NaN and for infinities.
    """
    return 1e-4 <= abs(number) < 1e16 and not number.is_integer()  # noqa: PLR2004 - repr's own bounds, named above


def check_text(text: str) -> None:
    """Refuse a string that UTF-8 cannot carry (RFC 8785 section 3.2.2.2: a lone surrogate is an error).

    Raises:
        NotCanonicalError: with an empty path; the caller knows the place.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotCanonicalError((), "a string has a lone surrogate, which UTF-8 cannot carry") from None


def write(value: JsonValue, *, simple: bool) -> str:
    """RFC 8785 text of a value whose types the caller has walked (rule 1), and that nobody else can change.

    Args:
        value: exact plain types, no cycles.
        simple: the caller's promise that every key is ASCII, every integer safe, and every float
            `float_is_simple`. Without it the reference writes.

    Raises:
        NotCanonicalError: a lone surrogate, or a number that has no form (with ``simple=False``: any such).
    """
    try:
        if not simple:
            return rfc8785.dumps(value).decode()
        text = _encode(value)
        if not text.isascii():
            text.encode()
    except (ValueError, RecursionError):
        # From ValueError: its message may hold the value, so nothing of it is kept.
        raise NotCanonicalError((), "it has a number or a string that RFC 8785 cannot write") from None
    return text


def canonical_text(value: object) -> str:
    """RFC 8785 text of any object: of plain JSON types, or an error. Total.

    Raises:
        NotCanonicalError: at the first place that has no canonical form.
    """
    walk = _Walk()
    try:
        copy = walk.copy(value, 0)
    except RecursionError:
        raise NotCanonicalError((), "the caller's stack leaves no room to walk it") from None
    except RuntimeError:
        # "dictionary changed size during iteration": rule 3.
        raise NotCanonicalError((), "it was changed by someone else while it was read") from None
    return write(copy, simple=walk.simple)


class _Walk:
    """One walk over one value: copies it, and learns whether the C encoder may write the copy."""

    __slots__ = ("left", "simple")

    def __init__(self) -> None:
        self.left = HARD_MAX_NODES
        self.simple = True

    def copy(self, value: object, depth: int) -> JsonValue:
        """The canonical value of `value`, whose parent is at `depth` (the root's is 0)."""
        if type(value) is str:
            check_text(value)
            return value
        if type(value) is dict:
            return self._object(value, depth + 1)
        if type(value) is int:
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise NotCanonicalError((), "an integer is beyond ±(2^53-1): pass it as a string")
            return value
        if value is None or type(value) is bool:
            return value
        if type(value) is float:
            return self._float(value)
        if type(value) is list or type(value) is tuple:
            return self._array(value, depth + 1)
        raise NotCanonicalError((), f"{type(value).__name__!r} is not a plain JSON type")

    def _float(self, number: float) -> int | float:
        if number.is_integer() and -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
            return int(number)  # rule 2
        if not float_is_simple(number):
            if number - number != 0:  # NaN and the infinities, and nothing else
                raise NotCanonicalError((), "NaN and infinities are not JSON")
            self.simple = False
        return number

    def _enter(self, size: int, depth: int) -> None:
        if depth > HARD_MAX_DEPTH:
            raise NotCanonicalError((), f"it is nested deeper than {HARD_MAX_DEPTH}, or contains itself")
        self.left -= size
        if self.left < 0:
            raise NotCanonicalError((), f"it has more than {HARD_MAX_NODES} values")

    def _object(self, value: dict[object, object], depth: int) -> JsonObject:
        self._enter(2 * len(value), depth)
        copied: JsonObject = {}
        for key, item in value.items():
            if type(key) is not str:
                raise NotCanonicalError((), "an object has a key that is not a plain str")
            if not key.isascii():
                check_text(key)
                self.simple = False
            if type(item) is str and item.isascii():  # the common case, without a call
                copied[key] = item
                continue
            try:
                copied[key] = self.copy(item, depth)
            except NotCanonicalError as error:
                raise NotCanonicalError((path_key(key), *error.path), error.problem) from None
        return copied

    def _array(self, value: list[object] | tuple[object, ...], depth: int) -> list[JsonValue]:
        self._enter(len(value), depth)
        copied: list[JsonValue] = []
        for index, item in enumerate(value):
            try:
                copied.append(self.copy(item, depth))
            except NotCanonicalError as error:
                raise NotCanonicalError((index, *error.path), error.problem) from None
        return copied
