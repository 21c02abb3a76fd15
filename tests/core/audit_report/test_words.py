"""Texts and numbers as a reader sees them."""

from __future__ import annotations

import pytest

from aioc_opa.core.audit_report.meanings import RUNTIME_REASONS, UNDECIDED
from aioc_opa.core.audit_report.visible import (
    counted,
    duration_text,
    number_text,
    revision_text,
    share_text,
    visible,
)
from aioc_opa.core.reasons import RESERVED


def test_every_reserved_reason_has_its_words() -> None:
    assert set(RUNTIME_REASONS) == RESERVED
    assert UNDECIDED < RESERVED


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("issue_refund", "issue_refund"),
        ('say "hi"', 'say "hi"'),
        ("a\\b", "a\\\\b"),
        ("kim\u202etxt", "kim\\u202etxt"),
        ("a\u200bb", "a\\u200bb"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31m", "\\u001b[31m"),
        ("p\u0430ypal", "p\\u0430ypal"),
        ("Müller", "Müller"),
    ],
)
def test_what_hides_reorders_or_imitates_is_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_long_text_is_cut_in_its_middle_and_says_so() -> None:
    assert visible("a" * 50 + "b" * 50, longest=20) == "a" * 10 + " …80 more characters… " + "b" * 10


def test_a_revision_is_shown_by_bundle_and_whatever_else_as_it_is() -> None:
    assert revision_text('{"a":"1-x","b":"2-y"}') == "a: 1-x, b: 2-y"
    assert revision_text("no json") == "no json"
    assert revision_text("[" * 4096).startswith("[[[")
    assert revision_text('{"a":1}') == '{"a":1}'
    assert revision_text("[]") == "[]"


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (200_000, "3 min 20 s"),
        (7_260_000, "2 h 1 min"),
        (86_400_000, "1 d"),
        (86_400_000 + 5000, "1 d"),
        (97_200_000, "1 d 3 h"),
    ],
)
def test_times_are_shown_in_two_units(milliseconds: int, shown: str) -> None:
    assert duration_text(milliseconds) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 0, "-"),
        (0, 9, "0.0 %"),
        (1, 100_000, "<0.1 %"),
        (99_999, 100_000, ">99.9 %"),
        (9, 9, "100.0 %"),
        (1, 3, "33.3 %"),
    ],
)
def test_a_share_never_rounds_something_to_nothing(part: int, whole: int, shown: str) -> None:
    assert share_text(part, whole) == shown


def test_numbers() -> None:
    assert number_text(1_234_567) == "1\u202f234\u202f567"
    assert (counted(1, "vote"), counted(1000, "vote")) == ("1 vote", "1\u202f000 votes")
