"""canonical_text is total, and byte for byte what the library `rfc8785` writes."""

from __future__ import annotations

import enum
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text, float_is_simple, write
from aioc_opa.core.strict_json import decode
from tests.core.fuzzing import examples
from tests.core.json_strategies import ASCII, FLOATS, SAFE_INTEGERS, TEXT, VALUES, nested

pytestmark = pytest.mark.fuzz


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


# Among them: what `rfc8785` or the C encoder would fold into something else, or echo in an error.
ODD_LEAVES = st.one_of(
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=4),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.dates(),
    st.sampled_from([Colour.RED, Text("a"), object(), int, ..., NotImplemented, range(3), memoryview(b"a")]),
    st.frozensets(st.integers(), max_size=2),
)
ODD_KEYS = st.one_of(
    TEXT, st.text(st.characters(), max_size=3), st.booleans(), st.none(), st.integers(), st.just(Text("k"))
)
ODD_VALUES = st.recursive(
    ODD_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(ODD_KEYS, inner, max_size=3),
    max_leaves=8,
)
SIMPLE_FLOATS = FLOATS.filter(float_is_simple)
SIMPLE_VALUES = nested(st.none() | st.booleans() | SAFE_INTEGERS | SIMPLE_FLOATS | TEXT, ASCII)


@examples(0.2, usually=800)
@given(VALUES)
def test_canonical_text_is_byte_equal_to_the_reference(value: Any) -> None:
    assert canonical_text(value).encode() == rfc8785.dumps(value)


@examples(0.2, usually=400)
@given(SIMPLE_VALUES)
def test_the_c_encoder_writes_simple_values_like_the_reference(value: Any) -> None:
    assert write(value, simple=True).encode() == rfc8785.dumps(value) == write(value, simple=False).encode()


@examples(0.3, usually=600)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_simple_float_has_the_repr_that_the_reference_writes(number: float) -> None:
    written = rfc8785.dumps(number).decode()
    assert canonical_text(number) == written
    assert not float_is_simple(number) or repr(number) == written
    assert float(written) == number


@examples(0.2, usually=600)
@given(ODD_VALUES)
def test_any_object_gives_a_text_or_not_canonical(value: Any) -> None:
    try:
        text = canonical_text(value)
    except NotCanonicalError:
        return
    assert text.encode() == rfc8785.dumps(value)


@examples(0.1, usually=300)
@given(VALUES)
def test_canonical_text_is_a_fixed_point_of_decode_where_decode_takes_it(value: Any) -> None:
    text = canonical_text(value)
    if any(
        len(digits) > 15
        for digits in text.replace("-", " ").replace(",", " ").replace("]", " ").replace("}", " ").split()
    ):
        return  # an integral float beyond 2^53-1 is written without a fraction, and an integer token is refused there
    assert canonical_text(decode(text)) == text
