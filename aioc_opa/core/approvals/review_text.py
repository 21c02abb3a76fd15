"""Text for a reviewer: what cannot be seen for what it is, is written as an escape, and said to be there.

A reviewer approves what is on the screen, and the text on it comes from a model. So every character that hides,
reorders, imitates or draws is written as JSON's ``u`` escape, and every such place is reported (`Concern`). The
rules, of which the last ones need judgement (after Unicode Technical Standard 39, with the character names and
properties that Python has; its table of confusables is not among them):

1. control, format (bidirectional, zero-width, tags), surrogate, private and unassigned characters, fillers, blanks
   that are not the space, long runs of spaces, and box drawing, of which our own frame is made;
2. letters that are written from right to left: they reorder their neighbours without any control character;
3. compatibility forms (full-width, mathematical, ligatures, ``…``), digits of other scripts, marks that combine with
   another script's letter or pile up;
4. punctuation that looks like ``/ : ; , .``, or like ``-`` between letters and digits;
5. letters of another script within a Latin word; words of look-alikes only (Cyrillic that reads ``paypa``); letters of
   scripts that are not in everyday use; Latin letters that are not an ASCII letter with an accent.

What else is not ASCII is shown as it is, and listed (`Concern.OTHER`): ``Müller``, ``Привет``, ``東京``.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


class Concern(StrEnum):
    """Why a character is escaped or listed. The values are for people."""

    CONTROL = "control characters"
    HIDDEN = "invisible or direction-changing characters"
    BLANK = "blanks that are no single space"
    DRAWING = "characters that draw frames"
    RIGHT_TO_LEFT = "letters written from right to left"
    COMPATIBILITY = "full-width and other compatibility forms"
    DIGIT = "digits of another script"
    COMBINING = "combining marks"
    LOOK_ALIKE = "characters that look like ASCII ones"
    MIXED = "letters of several scripts in one word"
    SCRIPT = "letters of a script that is rarely used"
    NOT_NORMAL = "text that is not in Unicode's normal form C"
    LINES = "line breaks and tabs"
    OTHER = "other characters beyond ASCII, shown as they are"


HARMLESS: Final = frozenset({Concern.LINES, Concern.OTHER})
"""Listed, and no reason for suspicion."""

_HIDDEN_CATEGORIES: Final = frozenset({"Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that show nothing (Unicode's Default_Ignorable_Code_Point, and the blank Braille cell)."""

_LONG_BLANK: Final = re.compile(" {8,}")
_WORD: Final = re.compile(r"[^\W_]+")
_SIMPLE: Final = re.compile(r"[ -~]*")
_PUNCTUATION: Final = frozenset(
    "\u01c0\u01c3\u02c2\u02c3\u02c4\u02f4\u02f8\u055a\u055d\u0589\u05c3\u060c\u066a\u06d4\u0701\u0702\u1400\u166d"
    "\u166e\u16ec\u16ed\u1735\u1803\u1809\u201a\u2024\u2027\u2039\u203a\u2041\u2044\u204e\u204f\u2053\u205a\u212e"
    "\u2215\u2216\u2217\u2223\u2228\u222a\u2236\u223c\u22a4\u22c1\u22c3\u22ff\u2373\u2374\u237a\u23fd\u2571\u2572"
    "\u2768\u2769\u276e\u276f\u2772\u2773\u2774\u2775\u2795\u27cb\u27cd\u27d9\u292b\u292c\u29f5\u29f8\u29f9\u2a2f"
    "\u2e31\u2e32\u2e33\u2e40\u3014\u3015\u3033\u30a0\u31d3\u31d4\ua4f8\ua4fa\ua4ff\ua60e\ua6eb\ua6ef\ua789\ua78a"
    "\ufd3e\ufd3f\U000102f5\U00010320\U00010322\U000118ec\U000118ef\U000118f2\U0001d114\U0001d206\U0001d20d"
    "\U0001d20f\U0001d212\U0001d213\U0001d216\U0001d22a\U0001d236\U0001d237\U0001d23a\U0001d23b\U0001f74c\U0001f768"
)
_DASHES: Final = frozenset("\u02d7\u06d4\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\u2796\u30fc\u4e00")
_LOOK_ALIKES: Final = frozenset(
    # Cyrillic
    "\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u042c\u0430"
    "\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0461\u0474\u0475\u04ae\u04af\u04bb\u04bd\u04c0\u04cf"
    "\u04e0\u0500\u0501\u050c\u050d\u051a\u051b\u051c\u051d"
    # Greek
    "\u037f\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9"
    "\u03bd\u03bf\u03c1\u03c3\u03c5\u03dc\u03f2\u03f3\u03f9\u03fa"
    # Armenian
    "\u054d\u054f\u0555\u0561\u0563\u0566\u0570\u0578\u057c\u057d\u0581\u0584\u0585"
    # one or two each of Indic scripts, Georgian and Ethiopic
    "\u097d\u0b20\u0d20\u101d\u10e7\u10ff\u1200\u12d0"
    # a small capital gamma, and old Cyrillic
    "\u1d26\ua644\ua647"
    # Han, and a letter of katakana
    "\u3007\u30ce\u4e00\u4e28\u4e36\u4e3f\u4e8c\u535c\u53e3\u5de5"
)
"""Letters that pass for an ASCII letter or digit. Those that only resemble one (as small capitals do) are left out:
with them half of the commonest Russian and Greek words would be escapes, and nobody could review those texts."""

_LATIN_BESIDE_ASCII: Final = frozenset("ßæœøłđðþħŋÆŒØŁĐÐÞĦŊẞ")
_EAST_ASIAN: Final = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
)
_EVERYDAY: Final = frozenset(
    {"GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "ETHIOPIC", "DEVANAGARI", "BENGALI", "GUJARATI", "GURMUKHI", "ORIYA"}
    | {"TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
)
_MOST_MARKS: Final = 3


def concerns(text: str) -> list[Concern | None]:
    """For each character of `text`, why it needs attention; None for what is just what it looks like."""
    if _SIMPLE.fullmatch(text) and " " * 8 not in text:
        return [None] * len(text)
    found = [_alone(character) for character in text]
    for run in _LONG_BLANK.finditer(text):
        found[run.start() : run.end()] = [Concern.BLANK] * (run.end() - run.start())
    _marks(text, found)
    _dashes(text, found)
    ascii_letters = any("a" <= character.lower() <= "z" for character in text)
    sure = {_script(each) for each in text if each.isalpha() and not each.isascii() and each not in _LOOK_ALIKES}
    for word in _WORD.finditer(text):
        _word(text, word.span(), found, settled=frozenset() if ascii_letters else frozenset(sure))
    return found


def is_normal(text: str) -> bool:
    """Whether `text` is in normal form C: else two texts that look alike may differ."""
    return unicodedata.is_normalized("NFC", text)


def escaped(character: str) -> str:
    """`character` as JSON writes it when it must not appear itself."""
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFFFF:  # noqa: PLR2004 - the end of the first plane
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def tokens(text: str, found: Sequence[Concern | None] | None = None) -> list[str]:
    """What each character of `text` is written as, between the quotes of a JSON string."""
    marked = concerns(text) if found is None else found
    return [
        escaped(character) if concern not in {None, Concern.OTHER} or character in '"\\' else character
        for character, concern in zip(text, marked, strict=True)
    ]


def quoted(text: str) -> str:
    """`text` as a JSON string on one line, of visible, honest characters only. `json.loads` gives `text` again."""
    return f'"{"".join(tokens(text))}"'


def plain(text: str) -> str:
    """`text` as it is where it is a simple name, else `quoted`."""
    return text if _NAME.fullmatch(text) else quoted(text)


def columns(token: str) -> int:
    """Columns that a token takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in token)


_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@/+-]*")


def _alone(character: str) -> Concern | None:
    """What can be said of a character without its neighbours."""
    if " " <= character <= "~":
        return None
    if character in "\n\t":
        return Concern.LINES
    category = unicodedata.category(character)
    if category == "Cc":
        return Concern.CONTROL
    if category in _HIDDEN_CATEGORIES or _FILLERS.match(character):
        return Concern.HIDDEN
    if category == "Zs":
        return Concern.BLANK
    if unicodedata.bidirectional(character) in {"R", "AL", "AN"}:
        return Concern.RIGHT_TO_LEFT
    if "\u2500" <= character <= "\u259f":
        return Concern.DRAWING
    if category == "Nd":
        return Concern.DIGIT
    if character in _PUNCTUATION:
        return Concern.LOOK_ALIKE
    if unicodedata.normalize("NFKC", character) != character:
        return Concern.COMPATIBILITY
    return Concern.OTHER


def _marks(text: str, found: list[Concern | None]) -> None:
    """A mark may stand on a letter of its own script (as in Devanagari or Thai), a few at most."""
    base, pile = "", 0
    for place, character in enumerate(text):
        if not unicodedata.category(character).startswith("M"):
            base, pile = _script(character), 0
            continue
        pile += 1
        if found[place] is Concern.OTHER and (_script(character) != base or pile > _MOST_MARKS):
            found[place] = Concern.COMBINING


def _dashes(text: str, found: list[Concern | None]) -> None:
    """Between words a dash is typography; within one it passes for a hyphen, and before a digit for a minus."""
    for place, character in enumerate(text):
        if character in _DASHES and found[place] is Concern.OTHER:
            before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
            joins = before.isascii() and before.isalnum()
            if (joins or after.isdigit()) and after.isascii() and after.isalnum():
                found[place] = Concern.LOOK_ALIKE


def _word(text: str, span: tuple[int, int], found: list[Concern | None], *, settled: frozenset[str]) -> None:
    """Judge the letters of one word; `settled` are scripts that this text shows unmistakably."""
    places = [place for place in range(*span) if text[place].isalpha()]
    scripts = {place: _script(text[place]) for place in places}
    kinds = {"EAST ASIAN" if script in _EAST_ASIAN else script for script in scripts.values()}
    others = [place for place in places if scripts[place] != "LATIN"]
    latin = len(others) < len(places) or any(text[place].isascii() for place in range(*span))
    alike = bool(others) and all(text[place] in _LOOK_ALIKES for place in others)
    for place, script in scripts.items():
        if found[place] is not Concern.OTHER:
            continue
        if script == "LATIN":
            if not _accented(text[place]):
                found[place] = Concern.LOOK_ALIKE
        elif script in _EAST_ASIAN:
            if latin and text[place] in _LOOK_ALIKES:
                found[place] = Concern.LOOK_ALIKE
        elif script not in _EVERYDAY:
            found[place] = Concern.SCRIPT
        elif latin or len(kinds) > 1:
            found[place] = Concern.MIXED
        elif alike and not (len(places) == 1 and script in settled):
            found[place] = Concern.LOOK_ALIKE


def _accented(letter: str) -> bool:
    return letter in _LATIN_BESIDE_ASCII or unicodedata.normalize("NFD", letter)[0].isascii()


def _script(character: str) -> str:
    """The script, as a character's name begins with it; ``""`` for what has no name."""
    return unicodedata.name(character, "").partition(" ")[0]
