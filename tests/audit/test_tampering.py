"""The verifier finds every tampering, and accepts every log that nobody touched."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.audit.logs import anchor_of, codes, files_of, verified, written
from tests.audit.tampering import STEPS, Log, bytes_changed, files_moved, splice

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.audit.anchors import Anchor
    from tests.audit.tampering import Files

_ASKED = os.environ.get("AIOC_FUZZ_EXAMPLES")
TAMPERINGS = 400 if _ASKED is None else max(10_000, int(_ASKED) // 10)
OTHERS = ("splice", "files", "bytes", "writer")


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Files, Files, Anchor]:
    """Files of two writers, of another log of the first one's name, and an anchor of the former."""
    written(tmp_path / "log", "one")
    written(tmp_path / "log", "two", count=6)
    written(tmp_path / "other", "one")
    return files_of(tmp_path / "log"), files_of(tmp_path / "other"), anchor_of(tmp_path / "log", tmp_path / "note")


def tampered(kind: str, files: Files, others: Files, chance: random.Random) -> Files:
    """All files, with one writer's changed. The head file goes in half of the cases."""
    kept = {name: content for name, content in files.items() if name.startswith("two.")}
    if kind == "splice":
        one = splice(files, others, "one", chance)
    elif kind == "files":
        one = files_moved(files, "one", chance)
    elif kind == "bytes":
        one = bytes_changed(files, "one", chance)
    elif kind == "writer":
        one = {}
    else:
        log = Log.of(files, "one")
        STEPS[kind](log, chance)
        one = log.written()
    if chance.random() < 0.5:
        kept["one.head"] = files["one.head"]
    return {**kept, **one}


def put(folder: Path, files: Files) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", [*STEPS, *OTHERS])
def test_every_tampering_is_found(kind: str, tmp_path: Path, logs: tuple[Files, Files, Anchor]) -> None:
    files, others, anchor = logs
    folder = tmp_path / "tampered"
    share = TAMPERINGS // (len(STEPS) + len(OTHERS)) * (4 if kind == "edit" else 1)
    tried = 0
    for seed in range(2 if kind == "writer" else share):
        chance = random.Random(f"{kind}-{seed}")  # noqa: S311 - the same tamperings each time
        changed = tampered(kind, files, others, chance)
        if {**changed, "one.head": b""} == {**files, "one.head": b""}:
            continue  # what came out is what was there
        tried += 1
        put(folder, changed)
        report = verified(folder, anchor)
        assert not report.sound, f"{kind} {seed}"
        assert all(finding.writer == "one" for finding in report.findings), f"{kind} {seed}: {report.findings}"
    assert tried * 2 >= share or kind == "writer"


def test_what_nobody_touched_is_accepted(tmp_path: Path, logs: tuple[Files, Files, Anchor]) -> None:
    files, _, anchor = logs
    report = verified(tmp_path / "log", anchor)
    assert report.findings == ()
    assert [part.protection for writer in report.writers for part in writer.ranges] == ["anchored", "anchored"]
    put(tmp_path / "copy", {name: content for name, content in files.items() if name.endswith(".jsonl")})
    assert verified(tmp_path / "copy", anchor).sound
    assert verified(tmp_path / "other").sound


def test_an_end_that_a_crash_can_leave_is_no_finding_and_is_said(tmp_path: Path) -> None:
    written(tmp_path / "log", segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])  # all of the last record but its line's end
    assert verified(tmp_path / "log").sound
    path.write_bytes(whole + b'{"at":"2026')
    report = verified(tmp_path / "log")
    assert report.sound
    assert report.writers[0].torn_bytes == 11


def test_an_acknowledged_record_cannot_pass_as_torn(tmp_path: Path) -> None:
    written(tmp_path / "log", segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert codes(verified(tmp_path / "log")) == ["truncated"]


def test_ranges_say_what_protects_them(tmp_path: Path) -> None:
    written(tmp_path / "log", count=10, segment_bytes=10**6)
    anchor = anchor_of(tmp_path / "log", tmp_path / "note")
    written(tmp_path / "log", count=10, segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    (tmp_path / "log" / "one.head").unlink()
    report = verified(tmp_path / "log", anchor)
    assert [part.protection for part in report.writers[0].ranges] == ["anchored", "signed", "unprotected"]
    firsts = [part.first for part in report.writers[0].ranges]
    assert firsts[1:] == [part.last + 1 for part in report.writers[0].ranges][:-1]
    assert report.writers[0].ranges[-1].last == len(lines) - 1
