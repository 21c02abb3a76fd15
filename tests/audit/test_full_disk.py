"""A disk that is full now and then: whatever was cut off, and in whichever file, the writer goes on once there is room."""

from __future__ import annotations

import errno
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit import json_lines
from aioc_opa.audit.chain_writer import ChainWriter
from aioc_opa.audit.sink import SinkError
from tests.audit.logs import KEY, event, verified

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject

FULL = 4096


class Disk:
    """Takes `room` more bytes; None for any number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        self._write = os.write
        monkeypatch.setattr("aioc_opa.audit.json_lines.os.write", self.write)

    def write(self, file: int, content: Any) -> int:
        if self.room is None:
            return self._write(file, content)
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        part = content[: self.room]
        self.room -= len(part)
        return self._write(file, part)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def writer(folder: Path, every: int = 1000) -> ChainWriter:
    sink = json_lines.JsonLinesSink(folder, segment_bytes=FULL)
    return ChainWriter(sink, writer="one", key=KEY, mode="required", checkpoint_records=every)


def content(number: int) -> JsonObject:
    return {"type": "event", "event": event(number).model_dump(by_alias=True, exclude_defaults=True)}


def test_a_next_file_that_stays_empty_is_gone_on_with(disk: Disk, tmp_path: Path) -> None:
    """Its name can be had where its first byte cannot."""
    log = tmp_path / "log"
    opened = writer(log, every=1)  # so that nothing has to be written into the first file any more
    number = 0
    while number == 0 or (log / "one.00000001.jsonl").stat().st_size < FULL:
        opened.append([content(number)])
        number += 1
    disk.room = 0
    with pytest.raises(SinkError):
        opened.append([content(100)])
    assert (log / "one.00000002.jsonl").read_bytes() == b""
    for _ in range(2):
        with pytest.raises(SinkError):
            opened.append([content(101)])
    disk.room = None
    opened.append([content(102)])
    opened.checkpoint()
    opened.close()
    assert b"call-102" in (log / "one.00000002.jsonl").read_bytes()
    assert verified(log).sound


@pytest.mark.parametrize("seed", range(20))
def test_wherever_writes_are_cut_off_the_log_goes_on_and_verifies(seed: int, disk: Disk, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    acknowledged = 0
    for _ in range(3):
        opened = writer(tmp_path / "log", chance.choice((1, 3, 1000)))
        for _ in range(4):
            disk.room = chance.choice((None, None, chance.randint(0, 6000), chance.randint(0, 300)))
            try:
                opened.append([content(number) for number in range(chance.randint(1, 7))])
                acknowledged += 1
            except SinkError:
                continue
        disk.room = None
        opened.checkpoint()
        opened.close()
    opened = writer(tmp_path / "log")
    opened.append([content(99)])
    opened.close()
    report = verified(tmp_path / "log")
    assert acknowledged
    assert report.findings == ()
