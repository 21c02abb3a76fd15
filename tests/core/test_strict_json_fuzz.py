"""One invariant: a value, or `StrictJsonError`, never any other; and both layers say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core import strict_json, strict_json_reference
from aioc_opa.core.limits import ARGUMENT_LIMITS, JsonLimits
from aioc_opa.core.strict_json import PROBLEMS, StrictJsonError, decode, decode_object
from tests.core.fuzzing import examples
from tests.core.json_strategies import ANY_BYTES, ANY_TEXT, TOKEN_SOUP, VALUES, mutated_json
from tests.core.test_strict_json_vectors import typed

pytestmark = pytest.mark.fuzz

TINY_LIMITS = st.builds(
    JsonLimits, max_bytes=st.integers(2, 60), max_depth=st.integers(1, 4), max_nodes=st.integers(1, 12)
)


def outcome(text: str | bytes, limits: JsonLimits) -> Any:
    try:
        return typed(decode(text, limits))
    except StrictJsonError as caught:
        error = caught
    assert error.code in PROBLEMS
    assert error.offset is None or 0 <= error.offset <= len(text)
    assert len(error.path) <= limits.max_depth
    return error.code


def by_reference(text: str, limits: JsonLimits) -> Any:
    try:
        return typed(strict_json_reference.parse(text, limits))
    except StrictJsonError as error:
        return error.code


def object_outcome(text: str, limits: JsonLimits) -> Any:
    try:
        value = decode_object(text, limits, empty_arguments="object")
    except StrictJsonError as error:
        return error.code
    return typed(value) if text.strip(" \t\r\n") else json.dumps(value)


def check(text: str, limits: JsonLimits) -> None:
    expected = by_reference(text, limits)
    assert outcome(text, limits) == expected
    fast = strict_json._accept(text, limits)
    if limits is ARGUMENT_LIMITS:
        # Nothing here is near the limits, so the fast path has no excuse: it accepts exactly what the reference does.
        assert (fast is strict_json._DECLINED) == isinstance(expected, str)
    if fast is not strict_json._DECLINED:
        assert typed(fast) == expected
    assert object_outcome(text, limits) in (expected, "not_an_object", "{}")
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        assert isinstance(expected, str)
    else:
        assert outcome(encoded, limits) == expected


@examples(0.4, usually=1000)
@given(mutated_json())
def test_mutated_json(text: str) -> None:
    check(text, ARGUMENT_LIMITS)


@examples(0.2, usually=800)
@given(TOKEN_SOUP)
def test_token_soup(text: str) -> None:
    check(text, ARGUMENT_LIMITS)


@examples(0.1, usually=350)
@given(ANY_TEXT)
def test_any_text(text: str) -> None:
    check(text, ARGUMENT_LIMITS)
    check('{"a":"' + text + '"}', ARGUMENT_LIMITS)


@examples(0.1, usually=350)
@given(raw=ANY_BYTES, inside=st.booleans())
def test_any_bytes(*, raw: bytes, inside: bool) -> None:
    outcome(b'{"a":"' + raw + b'"}' if inside else raw, ARGUMENT_LIMITS)


@examples(0.1, usually=350)
@given(mutated_json() | VALUES.map(json.dumps), TINY_LIMITS)
def test_tiny_limits(text: str, limits: JsonLimits) -> None:
    check(text, limits)


@examples(0.1, usually=350)
@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_what_was_written_is_read_back(*, value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert outcome(text, ARGUMENT_LIMITS) == typed(value)
    check(text, ARGUMENT_LIMITS)
