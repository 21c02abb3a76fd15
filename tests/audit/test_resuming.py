"""A writer that goes on vouches for nothing that it has not written, and never chains onto somebody else's record."""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.keys import public_keys_of
from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.runs import Run
from aioc_opa.audit.sources import FolderSource, open_source
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.audit.verifier import verify
from aioc_opa.core.audit.anchors import Anchor, AnchoredHead
from aioc_opa.core.audit.chain import head_of, record_of
from aioc_opa.errors import AuditLogError, AuditUnavailableError
from tests.audit.forging import forge_lines, forge_rows
from tests.audit.logs import KEY, KEYS, OTHER_KEY, codes, event, files_of, trail, verified, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.audit.findings import VerificationReport

BIG = 10**6


@pytest.fixture(params=["jsonl", "sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_schema_url"))
    folder = tmp_path / "log"
    folder.mkdir(mode=0o700)
    return str(folder if request.param == "jsonl" else tmp_path / "log.db")


def opened(target: str, folder: Path, **others: Any) -> AuditTrail:
    if "://" not in target and not target.endswith(".db"):
        return trail(folder / "log", segment_bytes=BIG, **others)
    return AuditTrail(SqlSink(target), writer="one", key=KEY, **others)


def forge(target: str, folder: Path, count: int = 2) -> None:
    if "://" not in target and not target.endswith(".db"):
        forge_lines(folder / "log", count)
    else:
        forge_rows(target, count)


def ranges(report: VerificationReport) -> list[tuple[int, int, str, bool]]:
    return [(part.first, part.last, part.protection, part.vouched) for part in report.writers[0].ranges]


def contents(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "one.00000001.jsonl").read_bytes().splitlines()
    return [json.loads(line)["content"] for line in lines]


def test_what_was_forged_behind_the_last_checkpoint_is_never_signed(target: str, tmp_path: Path) -> None:
    with opened(target, tmp_path) as first:
        first.record_intent(event(1))
    forge(target, tmp_path)
    source = open_source(target)
    assert ranges(verify(source, KEYS)) == [(1, 3, "signed", True), (4, 5, "unprotected", True)]
    for turn in (2, 3):  # also after later checkpoints, and other starts
        with opened(target, tmp_path) as again:
            again.record_intent(event(turn))
    report = verify(source, KEYS)
    assert report.sound
    assert ranges(report) == [(1, 3, "signed", True), (4, 5, "unprotected", False), (6, 12, "signed", True)]
    # Nor does an anchor that was taken afterwards say who has written them.
    anchor = Anchor("2026-07-15T09:00:00.000Z", report.checkpoints)
    assert ranges(verify(source, KEYS, anchors=[anchor])) == [
        (1, 3, "anchored", True), (4, 5, "unprotected", False), (6, 12, "anchored", True),
    ]  # fmt: skip


def test_an_anchor_from_before_the_resume_protects_what_it_covers(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    forge_lines(tmp_path / "log", 3)
    head = head_of(record_of((tmp_path / "log" / "one.00000001.jsonl").read_bytes().splitlines()[4]))
    anchor = Anchor("2026-07-15T09:00:00.000Z", (AnchoredHead("one", head.log_id, head.sequence, head.hash),))
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    assert ranges(verified(tmp_path / "log", anchor)) == [
        (1, 5, "anchored", True), (6, 6, "unprotected", False), (7, 10, "signed", True),
    ]  # fmt: skip


def test_while_it_runs_a_writer_never_chains_onto_a_foreign_record(
    target: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = opened(target, tmp_path)
    running.record_intent(event(1))
    forge(target, tmp_path, 1)
    for _ in range(2):  # and goes on refusing
        with pytest.raises(AuditUnavailableError):
            running.record_intent(event(2))
    running.record(event(3))
    assert running.counts.dropped == 1
    assert running.counts.failures >= 3
    running.close()
    assert any(record.levelno == logging.CRITICAL and "was not written by this process" in record.getMessage()
               for record in caplog.records)  # fmt: skip
    report = verify(open_source(target), KEYS)
    assert report.sound
    assert ranges(report) == [(1, 3, "unprotected", True)]  # not even its last checkpoint signs it


def test_in_best_effort_mode_a_foreign_record_alarms_and_is_counted(target: str, tmp_path: Path) -> None:
    running = opened(target, tmp_path, mode="best_effort")
    running.record(event(1))
    assert running.flush()
    forge(target, tmp_path, 1)
    for number in range(5):
        running.record_intent(event(number))  # never raises
        running.flush(0.2)
    running.close()
    assert (running.counts.written, running.counts.dropped) == (1, 5)


def test_a_file_that_was_replaced_or_cut_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "log" / "one.00000001.jsonl"

    def replaced() -> None:
        copy = tmp_path / "copy"
        copy.write_bytes(path.read_bytes())
        copy.replace(path)

    def cut() -> None:
        os.truncate(path, path.stat().st_size - 10)

    steps: list[Callable[[], Any]] = [replaced, cut, path.unlink]
    for step in steps:
        running = trail(tmp_path / "log", segment_bytes=BIG)
        running.record_intent(event(1))
        step()
        with pytest.raises(AuditUnavailableError):
            running.record_intent(event(2))
        running.close()
        for each in (tmp_path / "log").iterdir():
            each.unlink()


def test_a_planted_next_file_is_not_written_to(tmp_path: Path) -> None:
    running = trail(tmp_path / "log", segment_bytes=4096)
    running.record_intent(event(1))
    planted = tmp_path / "log" / "one.00000002.jsonl"
    planted.write_bytes(b"planted\n")
    for number in range(20):
        running.record(event(number))
    assert running.counts.failures
    with pytest.raises(AuditUnavailableError):
        running.record_intent(event(20))
    running.close()
    assert planted.read_bytes() == b"planted\n"


def test_a_crash_leaves_an_unsigned_tail_that_is_declared_with_its_torn_line(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    path = tmp_path / "log" / "one.00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    (tmp_path / "log" / "one.head").unlink()
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    types = ["writer_started", "event", "torn_repaired", "resumed", "writer_started", "event", "checkpoint"]
    records = list(LogReader(FolderSource(tmp_path / "log")).records())
    assert [record.content.type for record in records] == types
    report = verified(tmp_path / "log")
    assert report.sound
    assert ranges(report) == [(1, 2, "unprotected", False), (3, 7, "signed", True)]


def test_nothing_is_declared_behind_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    for _ in range(3):
        written(tmp_path / "log", count=30, segment_bytes=4096)
    types = [json.loads(line)["content"]["type"] for name, content in files_of(tmp_path / "log").items()
             if name.endswith(".jsonl") for line in content.splitlines()]  # fmt: skip
    assert "resumed" not in types
    assert [part.protection for part in verified(tmp_path / "log").writers[0].ranges] == ["signed"]


def test_under_a_new_key_everything_is_declared_and_the_old_signatures_still_count(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    forge_lines(tmp_path / "log", 1)
    written(tmp_path / "log", count=1, segment_bytes=BIG, key=OTHER_KEY)
    assert contents(tmp_path / "log")[4] == {"type": "resumed", "first": 1, "last": 4}
    report = verify(FolderSource(tmp_path / "log"), public_keys_of(KEY, OTHER_KEY))
    assert report.sound
    assert ranges(report) == [(1, 3, "signed", True), (4, 4, "unprotected", False), (5, 8, "signed", True)]


def test_a_forged_checkpoint_is_none_to_the_writer(tmp_path: Path) -> None:
    """With a wrong signature, by another key, or copied from before."""
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    real = contents(tmp_path / "log")[2]
    other = {**real, "keyId": OTHER_KEY.key_id, "signature": OTHER_KEY.sign(b"x")}
    forge_lines(tmp_path / "log", 0, real, other)
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    assert contents(tmp_path / "log")[5] == {"type": "resumed", "first": 4, "last": 5}
    assert codes(verified(tmp_path / "log")) == ["bad_signature", "unknown_key"]


def test_a_start_that_declares_nothing_vouches_for_nothing_either(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    started = contents(tmp_path / "log")[0]
    forge_lines(tmp_path / "log", 0, {"type": "events_dropped", "count": 1}, started)
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    assert ranges(verified(tmp_path / "log"))[1] == (4, 5, "unprotected", False)


def test_a_declaration_cannot_take_protection_from_what_is_signed(tmp_path: Path) -> None:
    written(tmp_path / "log", count=3, segment_bytes=BIG)
    forge_lines(tmp_path / "log", 0, {"type": "resumed", "first": 1, "last": 900})
    report = verified(tmp_path / "log")
    assert report.sound
    assert ranges(report) == [(1, 5, "signed", True), (6, 6, "unprotected", True)]


def test_declarations_that_overlap_are_one_range() -> None:
    run = Run(1)
    run.last = 20
    run.not_vouched_for(4, 9)
    run.not_vouched_for(4, 7)
    run.signed = 12
    run.not_vouched_for(1, 15)
    run.signed = 20
    assert [(part.first, part.last, part.vouched) for part in run.ranges()] == [
        (1, 3, True), (4, 9, False), (10, 12, True), (13, 15, False), (16, 20, True),
    ]  # fmt: skip


def test_a_writer_that_is_open_says_so_and_what_to_do(tmp_path: Path) -> None:
    with trail(tmp_path / "log"), pytest.raises(AuditLogError, match=r"'one'.*has it open.*a writer's name of its own"):
        trail(tmp_path / "log")
