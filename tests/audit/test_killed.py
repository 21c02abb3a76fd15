"""kill -9 at any point loses no acknowledged record, and the log goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.sources import open_source
from aioc_opa.audit.verifier import verify
from aioc_opa.models.audit_record import EventContent
from tests.audit.logs import KEYS, event, trail, verified, written
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_ASKED = os.environ.get("AIOC_TORTURE_KILLS")
KILLS = 4 if _ASKED is None else int(_ASKED)


def killed(target: str, start: int, seconds: float, *, acknowledged: bool) -> list[int]:
    """Numbers of the events that were acknowledged before the kill; it waits for the first one, or kills before it too."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.audit.killed", target, str(start)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == b"ready\n"
        first = said.readline() if acknowledged else b""
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        lines = (first + said.read()).split(b"\n")
    process.wait()
    return [int(line) for line in lines[:-1]]


def recorded(target: str) -> set[int]:
    events = (
        record.content.event
        for record in LogReader(open_source(target)).records()
        if type(record.content) is EventContent
    )
    return {event.turn for event in events if event.turn is not None}


@pytest.mark.parametrize("kind", ["jsonl", "sqlite", "postgresql"])
def test_no_acknowledged_record_is_lost(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "postgresql":
        target = str(request.getfixturevalue("postgres_schema_url"))
    else:
        target = str(tmp_path / ("log" if kind == "jsonl" else "log.db"))
    chance = random.Random(7)  # noqa: S311 - the same waits each time
    acknowledged: set[int] = set()
    for round_ in range(KILLS if kind == "jsonl" else max(2, KILLS // 3)):
        acknowledged |= set(killed(target, round_ * 100_000, chance.random() * 0.1, acknowledged=round_ % 2 == 0))
        report = verify(open_source(target), KEYS)
        assert report.findings == (), f"{kind} round {round_}"
        assert acknowledged <= recorded(target)
        # What a crash left unsigned is there, whole, and no later signature vouches for it.
        later = {part.vouched for part in report.writers[0].ranges if part.protection == "signed"}
        assert later <= {True}
    assert acknowledged


def test_a_write_that_was_cut_off_anywhere_is_repaired_and_verifies(tmp_path: Path) -> None:
    written(tmp_path / "log", count=3, segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    whole = path.read_bytes()
    with trail(tmp_path / "log", segment_bytes=10**6) as opened:
        assert opened.counts.written == 0
    assert path.read_bytes() == whole  # nothing to say, nothing is written
    for cut in random.Random(5).sample(range(1, 700), 60):  # noqa: S311 - the same cuts each time
        path.write_bytes(whole)
        (tmp_path / "log" / "one.head").unlink(missing_ok=True)
        with trail(tmp_path / "log", segment_bytes=10**6, mode="best_effort") as opened:
            opened.record(event())
        added = path.read_bytes()[len(whole) :]
        (tmp_path / "log" / "one.head").unlink(missing_ok=True)
        path.write_bytes(whole + added[:cut])
        assert verified(tmp_path / "log").sound, cut
        for _ in range(2):  # and the repair can be cut off as well
            with trail(tmp_path / "log", segment_bytes=10**6, mode="best_effort") as opened:
                opened.record(event())
            assert verified(tmp_path / "log").sound, cut
            content = path.read_bytes()
            (tmp_path / "log" / "one.head").unlink(missing_ok=True)
            path.write_bytes(content[: -cut % 300 - 2])
        assert verified(tmp_path / "log").sound, cut
