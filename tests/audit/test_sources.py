"""A folder with many writers is not listed anew for each of them, and what comes meanwhile is read all the same."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from aioc_opa.audit import sources
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.verifier import verify
from tests.audit.logs import KEYS, written

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def settle(folder: Path) -> None:
    """As if nothing had come for a minute."""
    before = time.time() - 60
    os.utime(folder, (before, before))


def test_it_is_listed_once_while_nothing_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        written(tmp_path, f"writer-{number}", count=1)
    listings: list[Any] = []
    lists = sources.segments_by_writer
    monkeypatch.setattr(sources, "segments_by_writer", lambda folder: listings.append(folder) or lists(folder))
    settle(tmp_path)
    assert verify(FolderSource(tmp_path), KEYS).findings == ()
    assert len(listings) == 1
    os.utime(tmp_path)  # somebody writes now: a file may come within the same tick
    assert verify(FolderSource(tmp_path), KEYS).findings == ()
    assert len(listings) == 21


def test_a_file_that_comes_between_is_read(tmp_path: Path) -> None:
    written(tmp_path, "one", count=40, segment_bytes=4096)
    settle(tmp_path)
    source = FolderSource(tmp_path)
    before = len(list(source.lines("one")))
    written(tmp_path, "one", count=40, segment_bytes=4096)
    assert len(list(source.lines("one"))) > before + 40
    assert verify(source, KEYS).findings == ()
