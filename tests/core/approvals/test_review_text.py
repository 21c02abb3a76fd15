"""No terminal markup, escape, bidi, zero-width or control character gets through; look-alike letters are flagged too."""

from __future__ import annotations

import itertools
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.approvals.review_text import HARMLESS, Concern, concerns, is_normal, plain, quoted, tokens

SUSPICIOUS = {
    "\x1b[31mred\x1b[0m": Concern.CONTROL,
    "a\rb": Concern.CONTROL,
    "a\x00b": Concern.CONTROL,
    "a\x7fb": Concern.CONTROL,
    "a\x9bb": Concern.CONTROL,
    "pay\u202egnp.exe": Concern.HIDDEN,
    "a\u2066b": Concern.HIDDEN,
    "a\u200bb": Concern.HIDDEN,
    "a\u00adb": Concern.HIDDEN,
    "\ufeffa": Concern.HIDDEN,
    "a\U000e0041": Concern.HIDDEN,
    "a\u2028b": Concern.HIDDEN,
    "a\u3164b": Concern.HIDDEN,
    "a\u115fb": Concern.HIDDEN,
    "a\ufe0fb": Concern.HIDDEN,
    "\ue000": Concern.HIDDEN,
    "\ud800": Concern.HIDDEN,
    "\u0378": Concern.HIDDEN,
    "a\u00a0b": Concern.BLANK,
    "a\u3000b": Concern.BLANK,
    "a" + " " * 8 + "b": Concern.BLANK,
    "\u2502 to: 1": Concern.DRAWING,
    "\u05d0\u05d1": Concern.RIGHT_TO_LEFT,
    "\u0661\u0662": Concern.RIGHT_TO_LEFT,
    "\uff21\uff22": Concern.COMPATIBILITY,
    "\U0001d400": Concern.COMPATIBILITY,
    "wait\u2026": Concern.COMPATIBILITY,
    "\u0967\u0968": Concern.DIGIT,
    "e\u0301": Concern.COMBINING,
    "z\u0335\u0336": Concern.COMBINING,
    "\u0915\u0941\u0941\u0941\u0941": Concern.COMBINING,
    "a\u2215b": Concern.LOOK_ALIKE,
    "1\u20241": Concern.LOOK_ALIKE,
    "ACC\u20101": Concern.LOOK_ALIKE,
    "\u22125": Concern.LOOK_ALIKE,
    "p\u0430ypal": Concern.MIXED,
    "\u0440\u0430\u0443\u0440\u0430": Concern.LOOK_ALIKE,
    "grade \u0430": Concern.LOOK_ALIKE,
    "\u0391\u0392": Concern.LOOK_ALIKE,
    "\u13aa": Concern.SCRIPT,
    "d\u0251ta": Concern.LOOK_ALIKE,
    "f\u0131le": Concern.LOOK_ALIKE,
    "com\u30cepath": Concern.LOOK_ALIKE,
    "\u0434\u03b1\u0442": Concern.MIXED,
}

HONEST = [
    "Müller", "Straße", "Привет, мир", "кофе с молоком", "東京tower", "ニノ", "नमस्ते", "ที่อยู่", "Ελλάδα", "it’s “fine” – really", "🎉 €5",
]  # fmt: skip


@pytest.mark.parametrize(("text", "concern"), SUSPICIOUS.items(), ids=ascii)
def test_what_hides_reorders_or_imitates_is_escaped_and_named(text: str, concern: Concern) -> None:
    found = concerns(text)
    assert concern in found
    assert concern not in HARMLESS
    for character, why, token in zip(text, found, tokens(text), strict=True):
        if why is concern:
            assert token.isascii()
            assert token.startswith("\\")
            assert token != character


@pytest.mark.parametrize("text", HONEST)
def test_text_in_everyday_scripts_stays_readable_and_is_listed(text: str) -> None:
    assert set(concerns(text)) <= {None, Concern.OTHER}
    assert quoted(text) == f'"{text}"'


# What the table of Unicode Technical Standard 39 (as in confusable-homoglyphs 3.3.1) takes for one ASCII character, a
# sample of each kind; the quotation marks and the multiplication sign of ordinary text are the exceptions.
TAKEN_FOR_ASCII = "\u02c2\u055d\u0b20\u101d\u166e\u201a\u2039\u2053\u212e\u2223\u2228\u2373\u2768\u27d9\u2a2f\u3014\ua60e\ufd3e\U00010320\U000118ec\U0001d20d\U0001f74c"


@pytest.mark.parametrize("character", TAKEN_FOR_ASCII, ids=ascii)
def test_what_others_list_as_confusable_with_ascii_is_escaped(character: str) -> None:
    assert concerns(character)[0] not in HARMLESS | {None}


def test_common_words_of_other_languages_stay_readable() -> None:
    for text in ("Он не на том пути, но всё в порядке", "Είναι εδώ και τώρα", "ձեզ"):
        assert quoted(text).count("\\u") == 0, quoted(text)


def test_plain_ascii_is_nothing_to_speak_of() -> None:
    assert concerns("to: ACC-1, amount 5") == [None] * 19
    assert concerns("") == []


def test_markup_of_the_terminal_library_is_only_text() -> None:
    assert quoted("[red]:smile:[/red]") == '"[red]:smile:[/red]"'


def test_line_breaks_and_tabs_are_escaped_and_no_reason_for_suspicion() -> None:
    assert quoted("a\n\tb") == '"a\\n\\tb"'
    assert {Concern.LINES} <= HARMLESS


def test_names_stand_as_they_are_and_everything_else_in_quotes() -> None:
    assert plain("ann.lee@example.com") == "ann.lee@example.com"
    assert plain("ann (met: all)") == '"ann (met: all)"'
    assert plain("") == '""'


def test_normal_form() -> None:
    assert is_normal("é")
    assert not is_normal("e\u0301")


_ANY = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from('\u202e\u200b\u0430\u0301\u2502 \\"\n\x1b\u05d0\u2215\U0001f389'),
    ),
    max_size=40,
)


@given(_ANY)
def test_what_is_shown_reads_back_and_has_no_character_that_acts(text: str) -> None:
    written = quoted(text)
    assert json.loads(written) == text
    assert "\u2502" not in written
    for character in written:
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        assert character == " " or unicodedata.category(character) != "Zs"
        assert unicodedata.bidirectional(character) not in {"R", "AL", "RLE", "RLO", "LRE", "LRO", "RLI", "LRI", "FSI"}
        if not character.isascii():
            assert Concern.OTHER in concerns(text)


def test_of_all_unicode_no_single_character_gets_through_that_acts_or_reads_as_ascii() -> None:
    # All of the first plane but its ideographs, syllables and private characters, and every 17th beyond.
    some = (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000), range(0x10000, sys.maxunicode, 17))
    for code in itertools.chain(*some):
        character = chr(code)
        if concerns(character) == [Concern.OTHER]:
            assert unicodedata.category(character)[0] not in "CZ"
            assert not unicodedata.normalize("NFKC", character).isascii(), hex(code)
