"""The files: one writer each, durable, and not gone on with when they are not what was written."""

from __future__ import annotations

import errno
import multiprocessing
import os
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit import json_lines
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.sink import SinkError
from aioc_opa.errors import AuditLogError, AuditUnavailableError, ConfigurationError
from tests.audit.logs import KEY, OTHER_KEY, codes, event, files_of, trail, verified, written

if TYPE_CHECKING:
    from pathlib import Path


def hold(folder: Path, ready: Any, over: Any) -> None:
    with trail(folder):
        ready.set()
        over.wait(60)


def test_one_process_at_a_time_writes_under_a_name(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, over = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "log", ready, over))
    process.start()
    try:
        assert ready.wait(60)
        with pytest.raises(AuditLogError, match="another process"):
            trail(tmp_path / "log")
        with trail(tmp_path / "log", "two") as opened:
            opened.record_intent(event())
    finally:
        over.set()
        process.join()
    with trail(tmp_path / "log") as opened:
        opened.record_intent(event())
        with pytest.raises(AuditLogError, match="another process"):
            trail(tmp_path / "log")


def test_files_and_folder_are_their_owners_alone(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "log").iterdir()} == {0o600}
    (tmp_path / "log").chmod(0o770)
    with pytest.raises(AuditLogError, match="others may write"):
        trail(tmp_path / "log")


def test_files_rotate_and_each_finished_one_ends_signed(tmp_path: Path) -> None:
    with trail(tmp_path / "log", segment_bytes=4096, checkpoint_records=1000) as opened:
        for number in range(40):
            opened.record_intent(event(number))
    names = sorted(name for name in files_of(tmp_path / "log") if name.endswith(".jsonl"))
    assert len(names) > 3
    for name in names:
        assert b'"type":"checkpoint"' in (tmp_path / "log" / name).read_bytes().splitlines()[-1]
    assert verified(tmp_path / "log").sound


def test_the_chain_goes_on_in_a_new_file_that_a_crash_left_empty(tmp_path: Path) -> None:
    written(tmp_path / "log", count=10, segment_bytes=4096)
    count = len(files_of(tmp_path / "log"))
    for left in (b"", b'{"at":"20'):
        last = tmp_path / "log" / f"one.{count:08d}.jsonl"
        last.write_bytes(left)
        assert verified(tmp_path / "log").sound
        written(tmp_path / "log", count=3, segment_bytes=10**6)
        assert verified(tmp_path / "log").sound
        assert (b"torn_repaired" in last.read_bytes()) == bool(left)
        count = len(files_of(tmp_path / "log"))


def test_a_log_that_ends_before_what_was_acknowledged_is_not_gone_on_with(tmp_path: Path) -> None:
    written(tmp_path / "log", segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    whole = path.read_bytes()
    for cut in (whole[:-9], b"".join(whole.splitlines(keepends=True)[:-1]), b""):
        path.write_bytes(cut)
        with pytest.raises(AuditLogError, match="was acknowledged and is not there"):
            trail(tmp_path / "log")
    path.write_bytes(whole)
    (tmp_path / "log" / "one.head").write_bytes(b"x")
    with pytest.raises(AuditLogError, match="head file"):
        trail(tmp_path / "log")
    assert codes(verified(tmp_path / "log")) == ["head_unreadable"]
    (tmp_path / "log" / "one.head").write_bytes(b"\0" * 86)  # what a power cut can leave
    with trail(tmp_path / "log") as opened:
        opened.record_intent(event())


@pytest.mark.parametrize(
    "end", [b"no record\n", b"x\x1e{}\n", b"\n"], ids=["no record", "torn without record", "blank"]
)
def test_a_log_that_does_not_end_with_a_record_is_not_gone_on_with(end: bytes, tmp_path: Path) -> None:
    written(tmp_path / "log", segment_bytes=10**6)
    with (tmp_path / "log" / "one.00000001.jsonl").open("ab") as file:
        file.write(end)
    with pytest.raises(AuditLogError):
        trail(tmp_path / "log")
    assert codes(verified(tmp_path / "log")) == ["not_a_record"]


def test_another_writers_log_is_not_gone_on_with(tmp_path: Path) -> None:
    written(tmp_path / "log", "one", segment_bytes=10**6)
    (tmp_path / "log" / "two.00000001.jsonl").write_bytes((tmp_path / "log" / "one.00000001.jsonl").read_bytes())
    with pytest.raises(AuditLogError, match="not what this writer wrote"):
        trail(tmp_path / "log", "two")
    assert set(codes(verified(tmp_path / "log"))) == {"foreign_record"}


def test_a_finished_file_without_its_end_is_not_gone_on_with(tmp_path: Path) -> None:
    written(tmp_path / "log", count=20, segment_bytes=4096)
    files = sorted(name for name in files_of(tmp_path / "log") if name.endswith(".jsonl"))
    (tmp_path / "log" / files[-1]).write_bytes(b"")
    path = tmp_path / "log" / files[-2]
    path.write_bytes(path.read_bytes()[:-1])
    (tmp_path / "log" / "one.head").unlink()
    with pytest.raises(AuditLogError, match="does not end with a whole record"):
        trail(tmp_path / "log")


def test_a_new_key_goes_on_with_the_chain_and_is_named(tmp_path: Path) -> None:
    written(tmp_path / "log")
    written(tmp_path / "log", key=OTHER_KEY)
    assert set(codes(verified(tmp_path / "log"))) == {"unknown_key"}


def test_a_full_disk_is_repaired_once_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, room = os.write, [10**9]

    def write(file: int, content: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "full")
        part = content[: room[0]]
        room[0] -= len(part)
        return real(file, part)

    with trail(tmp_path / "log") as opened:
        opened.record_intent(event(1))
        monkeypatch.setattr(json_lines.os, "write", write)
        room[0] = 33
        with pytest.raises(AuditUnavailableError):
            opened.record_intent(event(2))
        room[0] = 10**9
        opened.record_intent(event(3))
    report = verified(tmp_path / "log")
    assert report.sound
    assert report.writers[0].repaired == 1


@pytest.mark.parametrize("killed", [False, True])
def test_a_write_that_was_cut_off_where_a_file_is_full_is_repaired_in_that_file(
    killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, room = os.write, [10**9]

    def write(file: int, content: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "full")
        part = content[: room[0]]
        room[0] -= len(part)
        return real(file, part)

    first = trail(tmp_path / "log", segment_bytes=4096, mode="best_effort")
    first.record(event(1))
    first.flush()
    monkeypatch.setattr(json_lines.os, "write", write)
    room[0] = 5000
    for number in range(10):
        first.record(event(number))
    first.flush()
    assert (tmp_path / "log" / "one.00000001.jsonl").stat().st_size > 4096
    if killed:  # its lock goes with the process, and nothing else is done
        first.close()
    room[0] = 10**9
    if not killed:
        first.record(event(20))
        first.close()
    with trail(tmp_path / "log", segment_bytes=4096) as second:
        second.record_intent(event(21))
    report = verified(tmp_path / "log")
    assert report.sound
    assert report.writers[0].repaired == 1
    assert (tmp_path / "log" / "one.00000002.jsonl").exists()


def test_after_a_sync_that_failed_nothing_is_durable_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(errno.EIO, "broken")

    opened = trail(tmp_path / "log")
    opened.record_intent(event(1))
    with monkeypatch.context() as broken:
        broken.setattr(json_lines.os, "fdatasync", fails)
        with pytest.raises(AuditUnavailableError):
            opened.record_intent(event(2))
    with pytest.raises(AuditUnavailableError):
        opened.record_intent(event(3))
    opened.close()
    with trail(tmp_path / "log") as again:
        again.record_intent(event(4))
    assert verified(tmp_path / "log").sound


def test_a_folder_that_cannot_be_made_alarms(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    with trail(tmp_path / "file" / "log") as opened, pytest.raises(AuditUnavailableError):
        opened.record_intent(event())
    assert "cannot be used" in caplog.text


def test_a_segment_has_a_least_size() -> None:
    with pytest.raises(ConfigurationError):
        JsonLinesSink("x", segment_bytes=10)
    assert KEY.key_id.startswith("audit-")


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "refused_file_system", lambda _: "nfs4")
    with pytest.raises(AuditLogError, match="nfs4"):
        trail(tmp_path / "log")


def test_a_last_record_that_lacks_only_its_lines_end_is_kept(tmp_path: Path) -> None:
    """Also the very first one, and one that repairs."""
    for count in (0, 3):
        folder = tmp_path / f"log{count}"
        if count:
            written(folder, count=count, segment_bytes=10**6)
            path = folder / "one.00000001.jsonl"
            path.write_bytes(path.read_bytes() + b'{"at')
            written(folder, count=1, segment_bytes=10**6)
        else:
            written(folder, count=1, segment_bytes=10**6)
            path = folder / "one.00000001.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [index for index, line in enumerate(lines) if b"torn_repaired" in line] or [0]
        path.write_bytes(b"".join(lines[: kept[0] + 1])[:-1])
        (folder / "one.head").unlink()
        before = path.read_bytes()
        written(folder, count=2, segment_bytes=10**6)
        assert path.read_bytes().startswith(before + b"\n")
        report = verified(folder)
        assert report.sound
        assert report.writers[0].repaired == bool(count)


def test_a_whole_record_that_does_not_follow_is_torn_bytes_and_never_kept(tmp_path: Path) -> None:
    written(tmp_path / "log", count=3, segment_bytes=10**6)
    path = tmp_path / "log" / "one.00000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for index in (0, 1):
        path.write_bytes(b"".join(lines) + lines[index][:-1])
        with trail(tmp_path / "log", segment_bytes=10**6) as opened:
            opened.record_intent(event())
        assert codes(verified(tmp_path / "log")) == []
        assert verified(tmp_path / "log").writers[0].repaired == 1
        for path_ in (path, tmp_path / "log" / "one.head"):
            path_.unlink()
        path.write_bytes(b"".join(lines))


def test_a_sink_that_was_closed_or_never_opened_writes_nothing(tmp_path: Path) -> None:
    sink = JsonLinesSink(tmp_path / "log")
    with pytest.raises(SinkError):
        sink.append([])
    sink.close()
    assert not (tmp_path / "log").exists()


def test_more_bytes_than_a_torn_write_can_leave_are_not_gone_on_with(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1, segment_bytes=10**7)
    with (tmp_path / "log" / "one.00000001.jsonl").open("ab") as file:
        file.write(bytes(3 * 1024 * 1024))
    (tmp_path / "log" / "one.head").unlink()
    with pytest.raises(AuditLogError, match="too many bytes"):
        trail(tmp_path / "log")


def test_a_head_file_that_knows_another_record_is_found(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1)
    head = tmp_path / "log" / "one.head"
    head.write_bytes(head.read_bytes()[:21] + b"0" * 64 + b"\n")
    assert codes(verified(tmp_path / "log")) == ["head_mismatch"]
    with pytest.raises(AuditLogError, match="was acknowledged"):
        trail(tmp_path / "log")
