"""Why a text is not strict JSON: a closed table of codes, each with one fixed sentence.

The sentences are fixed so that no refused value can reach a log or a model through them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

PROBLEMS: Final = MappingProxyType(
    {
        # What the text is, before any of it is read.
        "not_text": "it must be str or bytes",
        "too_large": "it has more bytes than JsonLimits.max_bytes",
        "invalid_utf8": "it is not UTF-8 (RFC 8259 section 8.1)",
        "byte_order_mark": "it starts with a byte order mark (RFC 8259 section 8.1)",
        "empty_text": "it is empty or blank, which is not JSON",
        "empty_arguments": 'the arguments are empty or blank; empty_arguments="object" takes exactly that as {}',
        "not_an_object": "the top level must be an object; a string that holds JSON is not decoded a second time",
        # Grammar (RFC 8259).
        "unexpected_character": "no JSON can go on like this",
        "unexpected_end": "it ends inside a value",
        "trailing_text": "something follows after the value",
        "trailing_comma": "a comma must be followed by a further element",
        "single_quoted": "strings are in double quotes",
        "unquoted_key": "a key must be a string in double quotes",
        "invalid_number": "it is not a JSON number (RFC 8259 section 6)",
        "invalid_escape": "it is not a JSON escape (RFC 8259 section 7)",
        "unescaped_control_character": "U+0000 to U+001F must be escaped (RFC 8259 section 7)",
        # What the grammar allows and no two readers agree on (RFC 8259 sections 4, 6, 8.2; RFC 7493 section 2).
        "duplicate_key": "the object has this key already",
        "lone_surrogate": "a surrogate without its pair is not a character",
        "non_finite_number": "NaN and infinities are not JSON",
        "number_overflow": "the number is too large for binary64",
        "number_underflow": "the number is not zero, but too small for binary64",
        "integer_out_of_range": "the integer is beyond ±(2^53-1): it must be sent as a string",
        "too_deep": "it is nested deeper than JsonLimits.max_depth",
        "too_many_nodes": "it has more keys and values than JsonLimits.max_nodes",
    }
)


class StrictJsonError(ValueError):
    """A text is not strict JSON.

    Attributes:
        code: a key of `PROBLEMS`.
        offset: character offset in the text, from 0 (for ``invalid_utf8`` the byte offset), or None for the whole.
        path: keys and indexes from the root to the place; keys are cut by `json_path.path_key`.
        message: the code's sentence; never a value.
    """

    def __init__(self, code: str, offset: int | None = None, path: tuple[str | int, ...] = ()) -> None:
        self.code = code
        self.offset = offset
        self.path = path
        self.message = PROBLEMS[code]
        super().__init__(f"{code}: {self.message}")
