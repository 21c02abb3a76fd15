"""What no vector file can say: types, stacks, sharing, and that nothing is echoed."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from aioc_opa.core import strict_json
from aioc_opa.core.limits import ARGUMENT_LIMITS, HARD_MAX_DEPTH, JsonLimits
from aioc_opa.core.strict_json import PROBLEMS, StrictJsonError, decode, decode_object


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [None, 1, {}, [], bytearray(b"{}"), memoryview(b"{}"), Text("{}"), object()],
    ids=lambda value: type(value).__name__,
)
def test_only_exact_str_and_bytes(value: Any) -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode_object(value, empty_arguments="object")
    assert caught.value.code == "not_text"


@pytest.mark.parametrize(
    ("text", "offset", "path"),
    [
        ('{"a":"x\ud800"}', 7, ("a",)),
        ('{"\udfff":1}', 2, ()),
        ('{"a":["\ud83d\ude00"]}', 7, ("a", 0)),
        ('{"a":"\\ud83d\ude00"}', 6, ("a",)),
    ],
    ids=["value", "key", "two halves", "half escaped"],
)
def test_a_lone_surrogate_in_the_text_itself(text: str, offset: int, path: tuple[str | int, ...]) -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode(text)
    assert (caught.value.code, caught.value.offset, caught.value.path) == ("lone_surrogate", offset, path)


def test_a_surrogate_outside_strings_is_no_json() -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode("{}\ud800")
    assert caught.value.code == "trailing_text"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"SECRET","a":1}',
        '{"a":"SECRET\n"}',
        '{"a":"SECRET',
        '{"a":SECRET}',
        '"SECRET"',
        '{"a":"SECRET"} SECRET',
        '{"a":["SECRET","\\uSECRET"]}',
        '{"a":"SECRET\\ud800"}',
    ],
)
def test_no_error_echoes_a_value(text: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode_object(text)
    error = caught.value
    assert "SECRET" not in f"{error} {error!r} {error.message} {error.path} {error.args}"
    assert error.__cause__ is None


def test_number_errors_do_not_echo_the_number() -> None:
    for number in ("9007199254740993", "31337e400", "31337e-400", "031337"):
        with pytest.raises(StrictJsonError) as caught:
            decode(number)
        assert "31337" not in str(caught.value)
        assert "9007199254740993" not in str(caught.value)


def test_the_empty_argument_message_names_the_option() -> None:
    with pytest.raises(StrictJsonError, match='empty_arguments="object"'):
        decode_object("")


def test_messages_are_a_closed_table() -> None:
    with pytest.raises(KeyError):
        StrictJsonError("no_such_code")
    with pytest.raises(TypeError):
        PROBLEMS["x"] = "y"  # type: ignore[index]  # the table is read-only: that is the test


def test_a_long_key_is_cut_in_the_path() -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode('{"' + "k" * 100_000 + '":01}')
    (key,) = caught.value.path
    assert key == "k" * 80 + "…"


def test_two_decodes_share_no_mutable_part() -> None:
    text = '{"a":[{"b":{}}]}'
    first, second = decode_object(text), decode_object(text)
    assert first == second
    assert first["a"] is not second["a"]
    assert first["a"][0] is not second["a"][0]  # type: ignore[index]  # known shape


def test_a_raised_recursion_limit_is_not_a_crash() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        for text in ("[" * 1_000_000, '{"a":' * 200_000, "[" * 200_000 + "]" * 200_000):
            with pytest.raises(StrictJsonError) as caught:
                decode(text)
            assert caught.value.code == "too_deep"
    finally:
        sys.setrecursionlimit(before)


def test_a_stack_without_room_still_reads() -> None:
    text = "[" * 64 + "]" * 64

    def down(left: int) -> Any:
        return decode(text) if left == 0 else down(left - 1)

    frames, frame = 0, sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back  # type: ignore[assignment]  # None ends it
    # Room for the reference parser's few calls, not for the C scanner's sixty-four.
    value = down(sys.getrecursionlimit() - frames - 30)
    assert json.dumps(value) == text


def test_the_deepest_that_can_be_configured_is_read() -> None:
    limits = JsonLimits(max_depth=HARD_MAX_DEPTH)
    assert decode("[" * 100 + "]" * 100, limits) == json.loads("[" * 100 + "]" * 100)
    with pytest.raises(StrictJsonError) as caught:
        decode("[" * 101 + "]" * 101, limits)
    assert caught.value.code == "too_deep"


@pytest.mark.parametrize(
    "bad",
    [
        {"max_depth": 0},
        {"max_depth": HARD_MAX_DEPTH + 1},
        {"max_bytes": 1},
        {"max_nodes": 0},
    ],
    ids=str,
)
def test_limits_are_bounded_themselves(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_"):
        JsonLimits(**bad)


def test_exactly_the_node_limit_is_read_whichever_way_nodes_are_made() -> None:
    limit = ARGUMENT_LIMITS.max_nodes
    for text in (
        "[" + ",".join(["0"] * (limit - 1)) + "]",
        "[" + ",".join(["[]"] * (limit - 1)) + "]",
        "{" + ",".join(f'"{i}":0' for i in range((limit - 1) // 2)) + "}",
    ):
        assert decode(text) == json.loads(text)
    with pytest.raises(StrictJsonError) as caught:
        decode("[" + ",".join(["[]"] * limit) + "]")
    assert caught.value.code == "too_many_nodes"


@pytest.mark.parametrize("text", ['"\\ud83d\\ude00"', '{"a":"\\uD83D\\uDE00"}', '"\\\\ud83d"', '"x\\\\\\ud83d\\ude00"'])
def test_escaped_pairs_are_accepted_without_the_reference(text: str) -> None:
    assert strict_json._accept(text, ARGUMENT_LIMITS) == json.loads(text)
