"""What can stand in a log folder besides logs: pipes, links, devices, endless lines. Nothing waits for them, or believes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from aioc_opa.audit.anchoring import read_anchor
from aioc_opa.audit.following import Follower
from aioc_opa.audit.reading import LogReader, Selection
from aioc_opa.audit.regular_files import NotARegularFileError, open_regular
from aioc_opa.audit.sources import LONGEST_LINE, FolderSource, open_source
from aioc_opa.errors import AuditLogError, AuditUnavailableError, InputFileError
from tests.audit.logs import KEYS, codes, event, files_of, lines_of, trail, verified, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIG = 10**7


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


PLANT = pytest.mark.parametrize("plant", [fifo, link_to_zeros, folder], ids=["fifo", "link", "folder"])


@PLANT
def test_what_is_no_file_is_found_by_its_name_and_never_waited_for(
    plant: Callable[[Path], None], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    written(log, count=2, segment_bytes=BIG)
    plant(log / "one.00000002.jsonl")
    plant(log / "two.00000001.jsonl")
    plant(log / "three.head")
    report = verified(log)
    assert [(one.code, one.writer, one.place) for one in report.findings] == [
        ("not_a_file", "one", "one.00000002.jsonl"),
        ("head_unreadable", "three", "three.head"),
        ("not_a_file", "two", "two.00000001.jsonl"),
    ]
    reader = LogReader(open_source(str(log)))
    assert len(list(reader.records())) == 4
    assert reader.passed_over == 2
    follower = Follower(FolderSource(log))
    written(log, "four", count=1)
    assert len(list(follower.added())) == 3


@PLANT
def test_a_writer_does_not_go_on_behind_it_nor_wait(plant: Callable[[Path], None], tmp_path: Path) -> None:
    for name in ("one.00000001.jsonl", "one.head"):
        log = tmp_path / name
        log.mkdir(mode=0o700)
        plant(log / name)
        with pytest.raises(AuditLogError, match="no regular file"):
            trail(log)


@PLANT
def test_a_planted_next_file_is_refused_by_a_writer_that_runs(plant: Callable[[Path], None], tmp_path: Path) -> None:
    running = trail(tmp_path / "log", segment_bytes=4096)
    running.record_intent(event(1))
    plant(tmp_path / "log" / "one.00000002.jsonl")
    for number in range(20):
        running.record(event(number))
    with pytest.raises(AuditUnavailableError):
        running.record_intent(event(20))
    running.close()


def test_an_anchor_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "note")
    with pytest.raises(InputFileError, match="no regular file"):
        read_anchor(tmp_path / "note", KEYS)


def test_a_folder_or_file_that_is_something_else_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    with pytest.raises(InputFileError, match="no such folder"):
        open_source(str(tmp_path / "log"))


def test_an_error_of_opening_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing")
    with pytest.raises(NotARegularFileError, match="no regular file"):
        open_regular(tmp_path)


def test_a_line_without_end_is_a_finding_and_not_read_on(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    path = tmp_path / "log" / "one.00000001.jsonl"
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + 2 * LONGEST_LINE)  # zeros, of which none is on disk
    (tmp_path / "log" / "one.head").unlink()
    report = verified(tmp_path / "log")
    assert codes(report) == ["not_a_record"]
    assert report.writers[0].torn_bytes == 0
    assert report.findings[0].place == "one.00000001.jsonl:4"


def test_bytes_behind_a_finished_file_are_no_torn_line(tmp_path: Path) -> None:
    written(tmp_path / "log", count=20, segment_bytes=4096)
    assert len(files_of(tmp_path / "log")) > 3
    path = tmp_path / "log" / "one.00000001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"at":"2026')
    report = verified(tmp_path / "log")
    assert codes(report) == ["not_a_record"]
    assert report.writers[0].torn_bytes == 0
    path.write_bytes(whole[:-1])  # not even when only the last line's end is missing
    assert "not_a_record" in codes(verified(tmp_path / "log"))


def test_torn_bytes_in_the_middle_are_no_torn_line(tmp_path: Path) -> None:
    written(tmp_path / "log", count=6, segment_bytes=BIG)
    lines = lines_of(tmp_path / "log")
    path = tmp_path / "log" / "one.00000001.jsonl"
    path.write_bytes(b"".join(lines[:3]) + b'{"at":"20\n' + b"".join(lines[3:]))
    report = verified(tmp_path / "log")
    assert codes(report) == ["not_a_record"]
    assert report.writers[0].torn_bytes == 0


def test_torn_bytes_are_counted_whether_they_are_repaired_or_not(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    path = tmp_path / "log" / "one.00000001.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at":"2026')
    assert verified(tmp_path / "log").writers[0].torn_bytes == 11
    written(tmp_path / "log", count=1, segment_bytes=BIG)
    report = verified(tmp_path / "log")
    assert report.sound
    one = report.writers[0]
    assert (one.repaired, one.repaired_bytes, one.torn_bytes) == (1, 11, 0)


def test_a_head_file_of_any_size_is_read_in_part(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1)
    with (tmp_path / "log" / "one.head").open("ab") as file:
        file.truncate(2**40)
    assert codes(verified(tmp_path / "log")) == ["head_unreadable"]


def test_a_record_that_names_another_writer_is_nobodys(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for writer in ("one", "two"):
        written(log, writer, count=2)
    before = len(list(LogReader(FolderSource(log)).records()))
    planted = (log / "two.00000001.jsonl").read_bytes().splitlines(keepends=True)[1]
    with (log / "one.00000001.jsonl").open("ab") as file:
        file.write(planted)
    assert "foreign_record" in codes(verified(log))
    for selection in (Selection(), Selection(writers=["one", "two"])):
        reader = LogReader(FolderSource(log), selection)
        assert (len(list(reader.records())), reader.passed_over) == (before, 1)


@pytest.mark.parametrize("count", [0, 3])
def test_a_planted_empty_file_leaves_no_gap_that_a_writer_goes_on_behind(count: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    written(log, count=count, segment_bytes=BIG)
    if not count:
        (log / "one.00000001.jsonl").unlink(missing_ok=True)
        (log / "one.head").unlink(missing_ok=True)
    (log / "one.00000003.jsonl").touch(mode=0o600)
    with pytest.raises(AuditLogError, match="segment 3 is there"):
        trail(log)


def cut(log: Path) -> None:
    os.truncate(max(log.glob("one.*.jsonl")), 10)


def without_its_last_file(log: Path) -> None:
    max(log.glob("one.*.jsonl")).unlink()


def gone(log: Path) -> None:
    for path in log.glob("one.*"):
        path.unlink()


def begun_anew(log: Path) -> None:
    gone(log)
    written(log, count=1)


@pytest.mark.parametrize("change", [cut, without_its_last_file, gone, begun_anew], ids=["cut", "last", "gone", "anew"])
def test_who_follows_a_log_is_told_when_less_of_it_is_there(change: Callable[[Path], None], tmp_path: Path) -> None:
    log = tmp_path / "log"
    written(log, count=10, segment_bytes=4096)
    assert (log / "one.00000002.jsonl").exists()
    follower = Follower(FolderSource(log))
    assert list(follower.added()) == []
    change(log)
    with pytest.raises(InputFileError, match="less is there than was read before"):
        list(follower.added())


@pytest.mark.parametrize("with_head", [False, True])
def test_no_next_file_is_begun_in_a_folder_that_has_taken_the_place_of_the_log(with_head: bool, tmp_path: Path) -> None:
    """A file that is full and signed is not looked at again, so it is the head file that shows it."""
    log = tmp_path / "log"
    running = trail(log, segment_bytes=4096, checkpoint_records=1)
    number = 0
    while number == 0 or (log / "one.00000001.jsonl").stat().st_size < 4096:
        running.record_intent(event(number))
        number += 1
    log.rename(tmp_path / "real")
    log.mkdir(mode=0o700)
    if with_head:
        (log / "one.head").touch()
    with pytest.raises(AuditUnavailableError):
        running.record_intent(event(99))
    running.close()
    assert [path.name for path in log.iterdir()] == ["one.head"] * with_head
    assert verified(tmp_path / "real").sound
