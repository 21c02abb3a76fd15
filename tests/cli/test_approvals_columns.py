"""A page fits the terminal that somebody sits at, or is not shown."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from typing import TYPE_CHECKING

import pytest

from aioc_opa.cli.terminal import terminal_columns
from aioc_opa.core.approvals.review_lines import CONTINUED, LEAST_COLUMNS
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Command


@pytest.fixture
def office(tmp_path: Path, aioc: Command) -> Office:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up()
    return made


@pytest.fixture
def terminal() -> Iterator[int]:
    """The descriptor of a terminal."""
    ours, theirs = pty.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


def resize(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_the_columns_are_those_of_the_terminal_also_beside_a_pager(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with os.fdopen(os.dup(terminal), "w") as errors:
        monkeypatch.setattr(sys, "stderr", errors)
        for columns in (57, 200):
            resize(terminal, columns)
            assert terminal_columns() == columns
        resize(terminal, 0)  # one that does not say
        assert terminal_columns() is None
        monkeypatch.undo()


@pytest.mark.parametrize(("columns", "folds"), [(LEAST_COLUMNS, True), (80, True), (None, True), (400, False)])
def test_a_long_text_is_folded_before_the_terminal_wraps_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, columns: int | None, folds: bool
) -> None:
    monkeypatch.setattr("aioc_opa.cli.approvals_show.terminal_columns", lambda: columns)
    held = office.hold({"amount": 1, "note": "x" * 86})
    shown = office.show(held)
    assert (shown.status, CONTINUED in shown.out) == (0, folds)


def test_a_terminal_that_is_too_narrow_is_told_so(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioc_opa.cli.approvals_show.terminal_columns", lambda: LEAST_COLUMNS - 1)
    shown = office.show(office.hold())
    assert (shown.status, shown.out) == (3, "")
    assert f"the page needs {LEAST_COLUMNS}" in shown.err
