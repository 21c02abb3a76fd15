"""Words in tables stay whole wherever there is room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from aioc_opa.cli.tables import say_table
from aioc_opa.cli.terminal import stdout_console

if TYPE_CHECKING:
    import pytest

WORDS = ("issue_refund_of_an_order_of_long_ago", "amount_above_the_limit_of_this_role", "sha256:" + "0" * 64)


def table(*rows: tuple[str, ...]) -> Table:
    made = Table()
    made.add_column("approval", no_wrap=True, min_width=36)
    for heading in ("tool", "held because", "digest"):
        made.add_column(heading, overflow="fold")
    for row in rows:
        made.add_row("0" * 36, *map(Text, row))
    return made


def test_a_pipe_is_as_wide_as_the_words_are_long(capsys: pytest.CaptureFixture[str]) -> None:
    say_table(table(WORDS))
    out = capsys.readouterr().out
    for word in WORDS:
        assert word in out
    assert len({len(line) for line in out.splitlines()}) == 1


def test_lines_break_at_blanks_and_what_is_left_is_shared(capsys: pytest.CaptureFixture[str]) -> None:
    say_table(table(("refund", "because " * 12, "a b"), ("a " * 40, "too_much", "c")))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) == stdout_console().width
    assert {"because", "refund", "too_much"} <= set(out.replace("\u2502", " ").split())
    assert out.count("because") == 13


def test_a_table_without_rows_is_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    say_table(table())
    assert "held because" in capsys.readouterr().out


def test_a_terminal_that_is_too_narrow_folds_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "90")
    say_table(table(WORDS))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 90
    assert WORDS[2][:7] in out
    assert out.count("0") >= 36 + 64
