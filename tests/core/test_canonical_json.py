"""RFC 8785 vectors, and each thing that has no canonical form."""

from __future__ import annotations

import enum
import json
import struct
import sys
import threading
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from aioc_opa.core import canonical_json
from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text, check_text, float_is_simple, write
from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, MAX_SAFE_INTEGER
from aioc_opa.core.strict_json import decode
from aioc_opa.core.tool_schemas import protocol

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent.parent / "vectors" / "rfc8785.json").read_text("utf-8"))


@pytest.mark.parametrize("case", VECTORS["texts"], ids=[case["name"] for case in VECTORS["texts"]])
def test_rfc8785_text(case: dict[str, Any]) -> None:
    value = decode(case["input"])
    assert canonical_text(value) == case["canonical"]
    assert canonical_text(value).encode().hex() == case["utf8Hex"]
    assert rfc8785.dumps(value).hex() == case["utf8Hex"]


@pytest.mark.parametrize("case", VECTORS["numbers"], ids=[case["ieee754"] for case in VECTORS["numbers"]])
def test_rfc8785_number(case: dict[str, Any]) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(case["ieee754"]))
    if case["canonical"] is None:
        with pytest.raises(NotCanonicalError):
            canonical_text(number)
    else:
        assert canonical_text(number) == case["canonical"]
        assert float(case["canonical"]) == number


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0, -0.0),
        (0, 0.0),
        (-5, -5.0),
        (MAX_SAFE_INTEGER, float(MAX_SAFE_INTEGER)),
        ([1, 2], (1, 2)),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ],
)
def test_what_is_one_value_has_one_text(left: Any, right: Any) -> None:
    assert canonical_text(left) == canonical_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        (None, "null"),
        ("1", 1),
        ("", None),
        ([], {}),
        ("é", "e\u0301"),
        ([[1], 2], [1, [2]]),
        ({"a": None}, {}),
        (0.1 + 0.2, 0.3),
    ],
)
def test_what_is_not_one_value_has_another_text(left: Any, right: Any) -> None:
    assert canonical_text(left) != canonical_text(right)


class IntSubclass(int):
    pass


class FloatSubclass(float):
    pass


class StrSubclass(str):
    __slots__ = ()


class ListSubclass(list[Any]):
    pass


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"


@pytest.mark.parametrize(
    "value",
    [
        IntSubclass(1),
        FloatSubclass(1.5),
        StrSubclass("a"),
        ListSubclass(),
        OrderedDict(),
        Number.ONE,
        Word.A,
        {1},
        frozenset(),
        b"a",
        bytearray(),
        Decimal(1),
        1j,
        object(),
        int,
        range(2),
        iter([]),
        ...,
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_exact_plain_types(value: Any) -> None:
    with pytest.raises(NotCanonicalError) as caught:
        canonical_text({"a": [0, value]})
    assert caught.value.path == ("a", 1)
    assert type(value).__name__ in caught.value.problem


@pytest.mark.parametrize("key", [1, True, None, 1.5, ("a",), StrSubclass("a"), Word.A], ids=repr)
def test_only_plain_str_keys(key: Any) -> None:
    with pytest.raises(NotCanonicalError) as caught:
        canonical_text({"x": {key: 1}})
    assert caught.value.path == ("x",)


@pytest.mark.parametrize(
    "number",
    [MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, 10**400, float("nan"), float("inf"), float("-inf")],
    ids=lambda n: repr(n)[:20],
)
def test_numbers_without_a_form(number: float) -> None:
    with pytest.raises(NotCanonicalError) as caught:
        canonical_text([number])
    assert caught.value.path == (0,)
    assert "9007199254740992" not in str(caught.value)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ude00\ud83d"], ids=ascii)
def test_lone_surrogates(text: str) -> None:
    with pytest.raises(NotCanonicalError):
        check_text(text)
    for value, path in [({"a": text}, ("a",)), ([text], (0,)), ({"a": {text: 1}}, ("a",)), ({"é": [text]}, ("é", 0))]:
        with pytest.raises(NotCanonicalError) as caught:
            canonical_text(value)
        assert caught.value.path == path
    for simple in (True, False):
        with pytest.raises(NotCanonicalError):
            write({"a": text}, simple=simple)
    with pytest.raises(NotCanonicalError):
        write({text: 1}, simple=False)


@pytest.mark.parametrize("simple", [True, False])
def test_write_refuses_a_number_that_nobody_walked_and_keeps_it_out_of_the_message(*, simple: bool) -> None:
    with pytest.raises(NotCanonicalError) as caught:
        write([float("inf")], simple=simple)
    assert "inf" not in str(caught.value)
    assert caught.value.__suppress_context__


def nest(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_is_bounded() -> None:
    assert canonical_text(nest(HARD_MAX_DEPTH)) == "[" * HARD_MAX_DEPTH + "]" * HARD_MAX_DEPTH
    with pytest.raises(NotCanonicalError, match="deeper"):
        canonical_text(nest(HARD_MAX_DEPTH + 1))
    with pytest.raises(NotCanonicalError, match="deeper"):
        canonical_text(nest(100_000))


def test_cycles_are_caught_by_depth() -> None:
    cycle: dict[str, Any] = {}
    cycle["me"] = [cycle]
    with pytest.raises(NotCanonicalError, match="contains itself"):
        canonical_text(cycle)


def test_parts_shared_over_and_over_are_caught_by_size() -> None:
    value: Any = ["x"]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(NotCanonicalError, match=str(HARD_MAX_NODES)):
        canonical_text(value)


def test_a_stack_without_room_is_a_refusal() -> None:
    def down(left: int) -> Any:
        return canonical_text(nest(HARD_MAX_DEPTH)) if left == 0 else down(left - 1)

    seen = set()
    for left in range(sys.getrecursionlimit()):
        try:
            seen.add(down(left))
        except NotCanonicalError as error:
            seen.add(error.problem)
        except RecursionError:
            break
    assert "the caller's stack leaves no room to walk it" in seen


def test_a_dict_that_changes_while_it_is_read_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    value: dict[str, Any] = {"a": [1], "b": 2}
    walk = canonical_json._Walk._array

    def meanwhile(self: Any, items: Any, depth: int) -> Any:
        value["c"] = 3
        return walk(self, items, depth)

    monkeypatch.setattr(canonical_json._Walk, "_array", meanwhile)
    with pytest.raises(NotCanonicalError, match="changed"):
        canonical_text(value)


def outcome(value: object) -> str | tuple[str | int, ...]:
    try:
        return canonical_text(value)
    except NotCanonicalError as error:
        return error.path


def test_another_thread_that_swaps_in_what_has_no_form_is_never_written() -> None:
    value: dict[str, Any] = {"a": [1, {"b": "x"}], "z": "end"}
    stop = threading.Event()

    def mutate() -> None:
        while not stop.is_set():
            value["a"][1] = {"b": {1}}
            value["a"][1] = {"b": "x"}

    thread = threading.Thread(target=mutate)
    thread.start()
    try:
        seen = {outcome(value) for _ in range(2000)}
    finally:
        stop.set()
        thread.join()
    assert seen <= {'{"a":[1,{"b":"x"}],"z":"end"}', ("a", 1, "b")}


def test_the_value_is_not_touched() -> None:
    value = {"b": (1.0, [2]), "a": -0.0}
    canonical_text(value)
    assert repr(value) == "{'b': (1.0, [2]), 'a': -0.0}"


def test_a_long_key_is_cut_in_the_path() -> None:
    with pytest.raises(NotCanonicalError) as caught:
        canonical_text({"k" * 10_000: {1}})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("number", "simple"),
    [
        (0.5, True),
        (1e-4, True),
        (123456.789, True),
        (-0.1, True),
        (9.99e-5, False),
        (1.0, False),
        (0.0, False),
        (-0.0, False),
        (1e16, False),
        (1e22, False),
        (float("nan"), False),
        (float("inf"), False),
        (float("-inf"), False),
    ],
)
def test_float_is_simple(*, number: float, simple: bool) -> None:
    assert float_is_simple(number) is simple


def test_the_error_has_one_home_and_two_import_paths() -> None:
    assert protocol.NotCanonicalError is NotCanonicalError
