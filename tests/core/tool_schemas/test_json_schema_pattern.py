"""Positions are an upper bound: the engine itself never compiles a pattern to more than so many bytes for each."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from aioc_opa.core.tool_schemas.json_schema_pattern import MAX_POSITIONS, UNCOUNTABLE, positions
from tests.core.tool_schemas.json_schema_cases import refusal, tool

BYTES_A_POSITION = 400
"""Of tokens that are ASCII: a literal takes 34, a class of two 92, an optional group about 130."""


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("", 0), ("abc", 3), ("^a$", 3), ("a|b", 3), ("a*", 2), ("[abc]", 1), ("[^a-z]x", 2), (r"[\]\[)]", 1),
        ("a{10}", 11), ("a{2,10}", 11), ("a{10,}", 11), ("a{0}", 2), ("a{ 10 }", 11), ("a{0000000000012}", 13),
        ("a{10}{10}", 111), ("(?:a{10}){10}", 121), ("(a)b", 3), ("(?<n>a){3}", 7), ("(?P<n>a){3}", 7), ("(?i)a{3}", 4),
        ("(?i:a){3}", 7), (r"\d{3}", 4), (r"\p{L}{3}", 4), (r"\x{41}{3}", 4), (r"\{3}", 3), ("[{3}]", 1), ("a)b", 3),
        ("[)]{5}", 6), (r"\\{5}", 6), ("(?", 1), ("\\", 1),
    ],
)  # fmt: skip
def test_positions_are_counted_with_repetitions_written_out(pattern: str, count: int) -> None:
    assert positions(pattern) == count


@pytest.mark.parametrize(
    "pattern", ["[[)]x{9}]{99}", "([])]x{99}){9}", "[^]x{99}]{9}", "([[:alpha:]]{99}){9}", "[a{99}{9}"]
)
def test_brackets_that_read_two_ways_count_as_all_repetitions_at_once(pattern: str) -> None:
    assert positions(pattern) == len(pattern) * 100 * 10


@pytest.mark.parametrize(
    "pattern", ["(?x)a # (", "(?ix: a)", "a" * 10_001, "(a{999999}){999999}", "((" * 9 + "a" + "){999})" * 9]
)
def test_what_cannot_be_counted_is_over_every_limit(pattern: str) -> None:
    assert positions(pattern) == UNCOUNTABLE


_tokens = st.sampled_from(
    ["a", "b", "[", "]", "^", "(", ")", "(?:", "(?i)", "(?i:", "(?<n>", "{30}", "{2,20}", "{9,}", "{", "}", "|", "*", "+",
     "?", "-", ":", "[:alpha:]", "[ab]", "[)]", "[(]", r"\]", r"\[", r"\(", r"\)", r"\\", "\\", r"\d", r"\x{41}", r"\b",
     r"\x", "&&", "~~", "$", "#", " ", "x{25}"]
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@example("([)]x{30}){30}")
@example("([[)]x{30}){30}")
@example("(a{ 30 }){30}")
@example(r"([\)]x{30}){30}")
@given(st.lists(_tokens, max_size=14).map("".join))
def test_the_engine_finds_no_more_than_the_positions(pattern: str) -> None:
    """A pattern that is taken at all is taken with a size limit in proportion to its positions."""
    assume(positions(pattern) < 20_000)

    def is_taken(size: int) -> bool:
        options = jsonschema_rs.RegexOptions(size_limit=size)
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
        except jsonschema_rs.ValidationError:
            return False
        return True

    assert is_taken(2_000 + BYTES_A_POSITION * positions(pattern)) or not is_taken(64 * 1024 * 1024)


@pytest.mark.parametrize("pattern", ["(x{1000}){1000}", "^[^a]{3000}$", "[ab]*a[ab]{3000}c", "(?x)a"])
def test_a_pattern_that_repeats_too_much_is_refused_with_its_place_and_the_cure(pattern: str) -> None:
    said = refusal(properties={"a": {"pattern": pattern}})
    assert "schema at #/properties/a/pattern: this pattern repeats too much" in said
    assert "maxLength" in said
    assert "#/patternProperties/" in refusal(patternProperties={pattern: {}})


@pytest.mark.parametrize("pattern", [r"^\S{1,255}@\S{1,255}$", "^.{1,2000}$", r"^[\s\S]{0,2000}$", r"^(\D|\W){0,400}$"])
def test_a_pattern_of_any_allowed_size_compiles(pattern: str) -> None:
    assert 500 < positions(pattern) <= MAX_POSITIONS
    assert tool(properties={"a": {"pattern": pattern}}).parse('{"a":"é@é"}')


def test_many_large_patterns_are_refused() -> None:
    assert "repeats too much" in refusal(properties={f"p{n}": {"pattern": f"[ab]{{{1000 + n}}}"} for n in range(50)})
