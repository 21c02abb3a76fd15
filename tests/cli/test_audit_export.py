"""A table of events for spreadsheets: no text out of a log acts as a formula, or hides, there."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from tests.audit.logs import event, trail

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command


def rows(aioc: Command, folder: Path, *identities: str) -> tuple[str, list[str]]:
    """The table as it is, and its column of identities as a spreadsheet reads it."""
    with trail(folder / "log", mode="best_effort") as opened:
        for number, identity in enumerate(identities):
            opened.record(event(number, identity=identity))
    shown = aioc("audit", "export", str(folder / "log"), "--format", "csv")
    assert shown.status == 0
    return shown.out, [row["identity"] for row in csv.DictReader(io.StringIO(shown.out))]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66", "\u2212"])
def test_no_text_begins_a_formula_in_any_locale(sign: str, aioc: Command, tmp_path: Path) -> None:
    formula = f"{sign}cmd()"
    _, column = rows(
        aioc, tmp_path, formula, f" {formula}", f";{formula}", f"x;{formula}", f'x; "{formula}', f"a,{formula}",
        f"'{formula}", f"\u00a0{formula}",
    )  # fmt: skip
    assert column == [
        f"'{formula}", f" '{formula}", f";'{formula}", f"x;'{formula}", f"x; \"'{formula}", f"a,'{formula}",
        f"''{formula}", f"\u00a0'{formula}",
    ]  # fmt: skip


@pytest.mark.parametrize("before", ["\t", "\r", "\n", "\x0b", "\u202e", "\u200b", "\ufeff", "\u2028", "\x1b[31m"])
def test_control_and_bidi_characters_are_escapes_and_hide_no_formula(
    before: str, aioc: Command, tmp_path: Path
) -> None:
    text, column = rows(aioc, tmp_path, f"{before}=cmd()", f"x{before}y")
    first = f"\\u{ord(before[0]):04x}{before[1:]}"
    assert before[0] not in "".join(text.splitlines()) or before in {"\r", "\n"}
    assert column[0] in {f"{first}'=cmd()", f"{first}=cmd()"}  # an escape begins no formula either way
    assert column[1] == f"x{first}y"
    assert len(column) == 2


def test_ordinary_texts_stay_what_they_are(aioc: Command, tmp_path: Path) -> None:
    names = ("kim", "kim@acme.example", "a-b", "x=1", "Zo\u00eb", "a;b", "1+1", "svc:refund/2")
    assert rows(aioc, tmp_path, *names)[1] == list(names)
