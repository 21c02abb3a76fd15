"""A page on a terminal: no text can put a line of ours on it, and none makes it one that nobody can wait for."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest

from aioc_opa.core.approvals.review_lines import CONTINUED, LEAST_COLUMNS, folded
from aioc_opa.core.approvals.review_page import GUTTER, page
from aioc_opa.core.approvals.review_tree import place
from tests.core.approvals.test_review import held, reviewed

OURS = "hash of the action, agent and tool shown above: " + "0" * 64


@pytest.mark.parametrize("columns", [LEAST_COLUMNS, 41, 80, 133])
def test_the_rest_of_a_long_line_does_not_begin_at_the_margin(columns: int) -> None:
    """Wherever a terminal ends its lines, no text can put one of ours, or one of data, at the beginning of the next."""
    deep: Any = OURS
    for _ in range(40):
        deep = {"k": deep}
    text = "".join((OURS, "東京" * 50, "नमस्ते " * 20, "±" * 90))
    record = held({"deep": deep, text: text}, raw=json.dumps({text[::-1]: OURS}), publicReason=text)
    lines = page(reviewed(record))
    shown = tuple(folded(lines, columns=columns))
    data = [line for line in shown if line.startswith((GUTTER, CONTINUED))]
    assert [line for line in shown if line not in data] == [line for line in lines if not line.startswith(GUTTER)]
    assert max(map(_columns, data)) <= columns
    # Nothing is lost, and no data has the mark.
    assert "\n".join(shown).replace("\n" + CONTINUED, "") == "\n".join(lines)
    assert CONTINUED.strip() not in "".join(lines)
    assert not any(unicodedata.category(line[2]).startswith("M") for line in data)


def _columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WFA" else 1 for each in line)


def test_one_long_key_over_many_texts_does_not_fill_the_page() -> None:
    key = "é" * 5000
    lines = page(reviewed(held({key: {f"a{number}": "é" for number in range(500)}})))
    findings = [line for line in lines if "has other characters" in line]
    assert len(findings) == 501
    assert f"... of {len(key)} characters].a7 has" in "\n".join(findings)
    assert sum(map(len, findings)) < 500 * 300 + len(key)


def test_what_leads_to_a_place_is_cut_where_it_is_long_and_says_so() -> None:
    long = "k" * 65
    deep = tuple(f"k{number}" for number in range(20))
    assert place((long, "é", long)) == f'$["{"k" * 64}"... of 65 characters]["é"]["{long}"]'
    assert place(deep) == "$.k0.k1.k2.k3.k4.k5.k6.k7[...4 more levels...].k12.k13.k14.k15.k16.k17.k18.k19"
    assert place(deep[:16]) == "$" + "".join(f".k{number}" for number in range(16))
    assert place((long, *deep), whole=True) == f'$["{long}"]' + "".join(f".k{number}" for number in range(20))
    assert place(()) == "$"
