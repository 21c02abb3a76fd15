"""`aioc-opa audit …`, as an operator and an auditor run it."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.audit.forging import forge_lines
from tests.audit.logs import event, trail, written
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

BIDI = "\u202e"


def test_a_finding_names_the_record_and_nothing_is_anchored_then(aioc: Command, folder: Path) -> None:
    path = folder / "log" / "one.00000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b"weekend", b"weekday", 1))
    found = aioc("audit", "verify", "log", "--keys", "writer.json")
    assert found.status == 1
    assert "FOUND not_a_record (record 2, one.00000001.jsonl:2)" in found.out
    assert "no anchor was given" in found.out
    refused = aioc("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "writer.key")
    assert refused.status == 1
    assert "nothing was anchored" in refused.err
    assert aioc("audit", "export", "log").status == 1
    assert "no records" in aioc("audit", "tail", "log").err


def test_what_a_log_says_of_itself_is_shown(aioc: Command, folder: Path) -> None:
    path = folder / "log" / "two.00000001.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at"')
    with trail(folder / "log", "two", mode="best_effort", capacity=1) as opened:
        for number in range(50):
            opened.record(event(number))
        assert opened.flush()
        opened.record(event(51))
    one = folder / "log" / "one.00000001.jsonl"
    one.write_bytes(one.read_bytes() + b"{")
    shown = aioc("audit", "verify", "log", "--keys", "writer.json")
    assert shown.status == 0
    for said in (
        "events are not in it",
        "1 writes were cut off (5 bytes), and repaired",
        "1 bytes after the last record",
    ):
        assert said in shown.out
    (folder / "empty").mkdir()
    assert "there is no log here" in aioc("audit", "verify", "empty", "--keys", "writer.json").out


def test_tail_shows_no_control_character_and_takes_filters(aioc: Command, folder: Path) -> None:
    shown = aioc("audit", "tail", "log")
    assert shown.status == 0
    assert "\x1b" not in shown.out
    assert BIDI not in shown.out
    assert "\\u001b[31m\\u202ekim" in shown.out
    as_json = aioc("audit", "tail", "log", "--json")
    assert as_json.out.isascii()
    assert "\x1b" not in as_json.out
    assert len(aioc("audit", "tail", "log", "-n", "2").out.splitlines()) == 2
    for options, count in (
        (("--writer", "two", "--kind", "tool_policy"), 1), (("--decision", "allow"), 1), (("--tenant", "other"), 1),
        (("--reason", "weekend"), 7), (("--identity", "=cmd()"), 1), (("--tool", "issue_refund"), 7),
        (("--run", "run"), 8), (("--run", "other"), 0), (("--call", "call-3"), 1), (("--call", "call-3", "--call", "call-51"), 2),
        (("--approval", f"apr_{'a' * 32}"), 1), (("--approval", f"apr_{'b' * 32}"), 0),
        (("--since", "2999-01-01T00:00:00Z"), 0),
        (("--until", "2020-01-01T00:00:00+02:00"), 0), (("--writer", "nobody"), 0),
    ):  # fmt: skip
        assert len(aioc("audit", "tail", "log", *options).out.splitlines()) == count, options
    assert aioc("audit", "tail", "log", "--since", "yesterday").status == 2
    assert aioc("audit", "tail", "missing").status == 3


def test_export_is_json_lines_or_columns_without_formulas(aioc: Command, folder: Path) -> None:
    lines = [json.loads(line) for line in aioc("audit", "export", "log").out.splitlines()]
    assert len(lines) == 8
    assert {line["writer"] for line in lines} == {"one", "two"}
    assert all(len(line["hash"]) == 64 for line in lines)
    columns = list(csv.DictReader(io.StringIO(aioc("audit", "export", "log", "--format", "csv").out)))
    assert len(columns) == 8
    assert columns[0]["reasons"] == "too_large weekend"
    assert [row["identity"] for row in columns if "cmd" in row["identity"]] == ["'=cmd()"]
    only = aioc("audit", "export", "log", "--decision", "allow").out.splitlines()
    assert len(only) == 1


def test_follow_shows_what_is_added_in_any_file(folder: Path) -> None:
    start = "from aioc_opa.cli.main import main; main()"
    command = [sys.executable, "-c", start, "audit", "tail", str(folder / "log"), "-n", "0", "--follow", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    with process.stdout as said, trail(folder / "log", "three", segment_bytes=4096) as opened:
        number, read = 0, b""
        # It counts as read what is there when it has started; so go on until it has said something.
        while read.count(b"\n") < 8:
            opened.record_intent(event(number))
            number += 1
            if select.select([said], [], [], 0.05)[0]:
                read += os.read(said.fileno(), 65_536)
        process.send_signal(signal.SIGINT)
        said.read()
    assert process.wait(20) == 130
    documents: list[Any] = [json.loads(line) for line in read.splitlines()[:8]]
    assert {document["writer"] for document in documents} == {"three"}
    sequences = [document["sequence"] for document in documents]
    assert sequences == list(range(sequences[0], sequences[0] + 8))


def test_what_a_writer_does_not_vouch_for_stays_unprotected(aioc: Command, folder: Path) -> None:
    forge_lines(folder / "log", 2)
    written(folder / "log", "one", count=1)
    shown = aioc("audit", "verify", "log", "--keys", "writer.json")
    assert shown.status == 0
    assert "  10-11 unprotected, not vouched for" in shown.out
    ranges = aioc("audit", "verify", "log", "--keys", "writer.json", "--json").document["writers"][0]["ranges"]
    assert ranges[1] == {"first": 10, "last": 11, "protection": "unprotected", "vouched": False}


def test_what_is_found_in_a_log_that_is_broken_all_over_is_shown_in_part_and_counted_whole(
    aioc: Command, folder: Path
) -> None:
    path = folder / "log" / "one.00000001.jsonl"
    path.write_bytes(path.read_bytes() + b"no record\n" * 300)
    verify = ("audit", "verify", "log", "--keys", "writer.json")
    found = aioc(*verify)
    assert found.status == 1
    assert found.out.count("FOUND ") == 200
    assert "  … 100 more of one: --json lists every one\n" in found.out
    assert found.out.endswith("\n300 found; no anchor was given\n")
    assert len(aioc(*verify, "--json").document["writers"][0]["findings"]) == 300


def test_commands_do_not_wait_for_what_is_planted(aioc: Command, folder: Path) -> None:
    os.mkfifo(folder / "log" / "one.00000002.jsonl")
    (folder / "log" / "three.00000001.jsonl").symlink_to("/dev/zero")
    found = aioc("audit", "verify", "log", "--keys", "writer.json")
    assert found.status == 1
    for place in ("record 10, one.00000002.jsonl", "record 1, three.00000001.jsonl"):
        assert f"FOUND not_a_file ({place}): a pipe, a link or something else" in found.out
    assert aioc("audit", "export", "log").status == 1
    assert "2 lines are no records" in aioc("audit", "tail", "log").err
    assert aioc("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "writer.key").status == 1
    assert aioc("audit", "report", "log", "--keys", "writer.json", "--out", "page.html").status == 1


def test_a_database_without_a_log_says_so(aioc: Command, folder: Path) -> None:
    sqlite3.connect(folder / "other.db").close()
    with closing(sqlite3.connect(folder / "other.db")) as connection:
        connection.execute("CREATE TABLE x (y)")
        connection.commit()
    (folder / "other.db").chmod(0o600)
    for command in (("verify", "other.db", "--keys", "writer.json"), ("tail", "other.db"), ("export", "other.db")):
        refused = aioc("audit", *command)
        assert refused.status == 3
        assert "there is no audit log in this database" in refused.err
        assert "Error" not in refused.err


@pytest.mark.parametrize("command", ["verify", "tail", "export", "anchor", "keygen"])
def test_help_teaches(aioc: Command, command: str) -> None:
    shown = aioc("audit", command, "--help")
    assert shown.status == 0
    assert f"aioc-opa audit {command} " in shown.out
    assert "Exit status: 0" in shown.out
