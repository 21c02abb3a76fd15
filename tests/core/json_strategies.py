"""Values and texts for property tests: ordinary ones, and those that JSON readers stumble over."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from aioc_opa.core.limits import MAX_SAFE_INTEGER

ODD_TEXT = st.sampled_from(
    [
        "",
        "__proto__",
        "10",
        "9",
        "1",
        "\x00",
        "\x1f",
        "\x7f",
        "\u2028",
        "\ud7ff",
        "\ue000",
        "\ufb33",
        "\uffff",
        "😀",
        "\U0010ffff",
        '"\\/',
        "é",
        "e\u0301",
        "</script>",
    ]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | ODD_TEXT
ASCII = st.text(st.characters(max_codepoint=0x7F), max_size=12)
SAFE_INTEGERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.sampled_from(
    [0, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [
        0.0,
        -0.0,
        1.0,
        1e15,
        1e16,
        1e20,
        1e21,
        1e-4,
        9.999e-5,
        1e-6,
        1e-7,
        5e-324,
        1.7976931348623157e308,
        2.0**53,
        0.1 + 0.2,
        123456789.5,
    ]
)
SCALARS = st.none() | st.booleans() | SAFE_INTEGERS | FLOATS | TEXT


def nested(scalars: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )


VALUES = nested(SCALARS, TEXT)

_TOKENS = [
    "{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "\\ud83d", "\\ude00", "\\uD800", "\\n", "'", '"a"', '"a":', '"a":1', "{}", "[]", "true", "false", "null", "True", "NaN", "Infinity",
    "-Infinity", "-", "+", "0", "-0", "01", "1.", ".5", "1e", "1e5", "1e400", "1e-400", "0e-400", "9007199254740991", "9007199254740992", "1" * 40, "1" * 4400, " ", "\t", "\n", "\r",
    "\f", "\u00a0", "\ufeff", "\x00", "\x1f", "\x7f", "\ud800", "\udc00", "é", "😀", "\uff11", "\u0663", "//", "/*", "```json", "a", "_", "\u2028",
]  # fmt: skip
TOKEN_SOUP = st.lists(st.sampled_from(_TOKENS), max_size=24).map("".join)
ANY_TEXT = st.text(st.characters(), max_size=40)
ANY_BYTES = st.binary(max_size=40)


@st.composite
def mutated_json(draw: st.DrawFn) -> str:
    """A valid text with one to three edits: a token put in, a stretch taken out, doubled or moved."""
    text = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 6)))
        middle = draw(st.sampled_from(["", text[start:stop] * 2, draw(st.sampled_from(_TOKENS))]))
        text = text[:start] + middle + text[stop:]
    return text
