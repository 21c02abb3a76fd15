"""The displayed tree is the arguments, all of them: it can be read back. Differences are where they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.approvals.review import canonical_value
from aioc_opa.core.approvals.review_diff import Difference, differences
from aioc_opa.core.approvals.review_findings import findings
from aioc_opa.core.approvals.review_text import Concern
from aioc_opa.core.approvals.review_tree import entry, pieces, place, scalar, tree
from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL = re.compile(
    r'(?:(?P<bare>[A-Za-z_][A-Za-z0-9_-]*)|(?P<quoted>"(?:[^"\\]|\\.)*")|\[(?P<index>\d+)\])?:(?: (?P<rest>.*))?'
)
_TEXT = re.compile(r"\(text of (\d+) characters\)")


def loads(text: str) -> Any:
    return json.loads(text, parse_int=lambda token: int(token) if len(token) < 16 else float(token))


def read_back(lines: Sequence[str]) -> Any:
    """A second reader of what `tree` writes, from its description only."""
    if len(lines) == 1 and (lines[0] in {"{}", "[]"} or not _LABEL.fullmatch(lines[0])):
        return loads(lines[0])
    if lines and _TEXT.fullmatch(lines[0]):
        return _text(lines)
    entries: list[tuple[Any, Any]] = []
    at = 0
    while at < len(lines):
        key: Any = ""
        while lines[at].startswith("? "):
            key += json.loads(lines[at][2:])
            at += 1
        found = _LABEL.fullmatch(lines[at])
        assert found, lines[at]
        if found["index"] is not None:
            key = int(found["index"])
        elif found["bare"] is not None or found["quoted"] is not None:
            key = found["bare"] if found["bare"] is not None else json.loads(found["quoted"])
        at += 1
        start = at
        while at < len(lines) and lines[at].startswith("  "):
            at += 1
        inner = [line[2:] for line in lines[start:at]]
        rest = found["rest"]
        written = rest is not None
        value = (_text([rest, *inner]) if _TEXT.fullmatch(rest) else loads(rest)) if written else read_back(inner)
        entries.append((key, value))
    if all(isinstance(key, int) for key, _ in entries):
        assert [key for key, _ in entries] == list(range(len(entries)))
        return [value for _, value in entries]
    return dict(entries)


def _text(lines: Sequence[str]) -> str:
    head = _TEXT.fullmatch(lines[0])
    assert head
    text = "".join(json.loads(line.removeprefix("> ")) for line in lines[1:])
    assert len(text) == int(head[1])
    return text


_STRINGS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["a: 1", "[0]", '> "x"', '? "x"', "(text of 1 characters)", "x\n  amount: 5\n", "y" * 200, "\u202e", "{}", ""]
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _STRINGS
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_STRINGS, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(_STRINGS, _VALUES, max_size=5), st.sampled_from([20, 88]))
def test_the_tree_is_a_faithful_rendering_of_the_canonical_arguments(arguments: Any, width: int) -> None:
    text = canonical_text(arguments)
    lines = list(tree(canonical_value(text), width=width))
    assert canonical_text(read_back(lines)) == text
    assert all(line.isprintable() for line in lines)


def test_a_tree_reads_like_this() -> None:
    value = {
        "amount": 1200,
        "to": {"iban": "DE1", "tags": ["a", []]},
        "note": "one\ntwo",
        "we ird": None,
        "k" * 90: True,
    }
    assert list(tree(value)) == [
        "amount: 1200",
        "to:",
        '  iban: "DE1"',
        "  tags:",
        '    [0]: "a"',
        "    [1]: []",
        "note: (text of 7 characters)",
        '  > "one\\n"',
        '  > "two"',
        '"we ird": null',
        f'? "{"k" * 88}"',
        '? "kk"',
        ": true",
    ]
    assert list(tree({})) == ["{}"]
    assert list(tree("x")) == ['"x"']
    assert list(entry("$.a", [1])) == ["$.a:", "  [0]: 1"]


def test_a_text_that_looks_like_fields_stays_one_text() -> None:
    assert list(tree({"note": "ok\namount: 5"})) == ["note: (text of 12 characters)", '  > "ok\\n"', '  > "amount: 5"']


def test_wide_characters_take_two_columns() -> None:
    assert list(pieces("東京東", width=4)) == ['"東京"', '"東"']


def test_numbers_are_written_as_they_are_hashed() -> None:
    assert [scalar(each) for each in (1e21, 0.1, -5, True, None)] == ["1e+21", "0.1", "-5", "true", "null"]


def test_places() -> None:
    assert place(("a", 0, "we ird", "\u202e")) == '$.a[0]["we ird"]["\\u202e"]'


def test_differences_are_structural() -> None:
    requested = {"amount": "12", "memo": "x", "items": [1, 2, 3], "deep": {"a": 1.0, "b": True}}
    parsed = {"amount": 12, "currency": "EUR", "items": [1, 5], "deep": {"a": 1, "b": 1}}
    assert differences(requested, parsed) == (
        Difference(path=("amount",), kind="changed", requested="12", parsed=12),
        Difference(path=("currency",), kind="filled_in", parsed="EUR"),
        Difference(path=("items", 1), kind="changed", requested=2, parsed=5),
        Difference(path=("items", 2), kind="dropped", requested=3),
        Difference(path=("deep", "b"), kind="changed", requested=True, parsed=1),
        Difference(path=("memo",), kind="dropped", requested="x"),
    )
    assert differences([1], [1, 2]) == (Difference(path=(1,), kind="added", parsed=2),)
    assert differences({"a": []}, {"a": {}}) == (Difference(path=("a",), kind="changed", requested=[], parsed={}),)


@given(_VALUES, _VALUES)
def test_there_is_no_difference_exactly_when_the_canonical_texts_are_equal(one: Any, other: Any) -> None:
    one, other = canonical_value(canonical_text(one)), canonical_value(canonical_text(other))
    assert (differences(one, other) == ()) == (canonical_text(one) == canonical_text(other))
    assert differences(one, one) == ()


def test_findings_have_place_kind_count_and_names() -> None:
    found = findings("action", {"to": ["p\u0430yp\u0430l"], "k\u200by": 1, "n": "e\u0301"})
    assert [(each.path, each.in_key, each.concern, each.count, each.suspicious) for each in found] == [
        (("to", 0), False, Concern.MIXED, 2, True),
        (("k\u200by",), True, Concern.HIDDEN, 1, True),
        (("n",), False, Concern.COMBINING, 1, True),
        (("n",), False, Concern.NOT_NORMAL, 0, True),
    ]
    assert found[0].examples == ("U+0430 CYRILLIC SMALL LETTER A",)
    (quiet,) = findings("action", "Müller")
    assert not quiet.suspicious
