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

from aioc_opa.audit.keys import AuditKey
from aioc_opa.core.audit.anchors import anchor_text
from aioc_opa.core.audit.notes import NoteKey, signed_note
from tests.approvals.receiver import Receiver
from tests.audit.forging import forge_lines
from tests.audit.logs import KEY, event, trail, verified, written
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

BIDI = "\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two writers, and its keys, in the current folder."""
    monkeypatch.chdir(tmp_path)
    KEY.save("writer.key")
    KEY.save_public("writer.json")
    written(tmp_path / "log", "one", count=6)
    with trail(tmp_path / "log", "two", mode="best_effort") as opened:
        opened.record(
            event(
                50,
                identity=f"\x1b[31m{BIDI}kim",
                tool_name="sha256:" + "0" * 64,
                decision="allow",
                reason="allowed",
                reasons=(),
            )
        )
        opened.record(event(51, identity="=cmd()", kind="execution_failed", tenant="other"))
    return tmp_path


def test_keys_are_made_once_and_the_public_half_is_said(aioc: Command, tmp_path: Path) -> None:
    key, public = str(tmp_path / "w.key"), tmp_path / "w.json"
    made = aioc("audit", "keygen", key, "--public", str(public))
    assert made.status == 0
    assert json.loads(public.read_text())["keys"] == [made.document]
    assert AuditKey.load(key).key_id == made.document["keyId"]
    assert aioc("audit", "keygen", key).status == 3


def test_a_log_is_anchored_and_verified_against_the_anchor(aioc: Command, folder: Path) -> None:
    assert aioc("audit", "keygen", "anchor.key", "--public", "anchor.json").status == 0
    anchored = aioc("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "anchor.key", "--out", "a.note")
    assert anchored.status == 0, anchored.err
    verify = ("audit", "verify", "log", "--keys", "writer.json", "--anchor", "a.note", "--anchor-keys", "anchor.json")
    fine = aioc(*verify)
    assert fine.status == 0
    assert "nothing found, against 1 anchors" in fine.out
    assert "anchored" in fine.out
    assert f"signed by {KEY.key_id}" in fine.out
    without = aioc("audit", "verify", "log", "--keys", "writer.json", "--anchor", "a.note")
    assert without.status == 2  # an anchor is not believed by the writer's own key
    assert "--anchor-keys" in without.err
    for path in folder.glob("log/two.*"):
        path.unlink()
    found = aioc(*verify, "--expect-writer", "three", "--json")
    assert found.status == 1
    assert {one["writer"]: [f["code"] for f in one["findings"]] for one in found.document["writers"]} == {
        "one": [], "two": ["missing_writer"], "three": ["missing_writer"],
    }  # fmt: skip
    shown = aioc(*verify)
    assert "FOUND missing_writer: there is no log of this writer" in shown.out


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
        (("--run", "run"), 8), (("--run", "other"), 0), (("--since", "2999-01-01T00:00:00Z"), 0),
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


def test_an_anchor_goes_to_standard_output_or_to_a_receiver(
    aioc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    anchor = ("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "writer.key")
    said = aioc(*anchor)
    assert said.out.startswith("aioc-opa/audit-anchor/1\n")
    assert aioc(*anchor, "--url", "https://x.example").status == 2
    monkeypatch.setenv("AIOC_OPA_AUDIT_WEBHOOK_SECRET", "whsec_" + "A" * 44)
    with Receiver(200, 400) as receiver:
        assert "has taken" in aioc(*anchor, "--url", receiver.url).out
        refused = aioc(*anchor, "--url", receiver.url)
        assert (refused.status, "status 400" in refused.err) == (1, True)


def test_keys_name_their_writers_and_sign_for_no_other(aioc: Command, folder: Path) -> None:
    made = aioc("audit", "keygen", "b.key", "--public", "b.json", "--writer", "b", "--writer", "c", "--writer", "b")
    assert made.document["writers"] == ["b", "c"]
    assert json.loads((folder / "b.json").read_text())["keys"] == [made.document]
    assert aioc("audit", "keygen", "c.key", "--writer", "no name").status == 2
    assert not (folder / "c.key").exists()
    both = {"keys": [{**KEY.public_entry(), "writers": ["one"]}]}
    (folder / "both.json").write_text(json.dumps(both))
    found = aioc("audit", "verify", "log", "--keys", "both.json")
    assert found.status == 1
    assert "FOUND key_of_another_writer (record 1, two.00000001.jsonl:1)" in found.out


def test_what_a_writer_does_not_vouch_for_stays_unprotected(aioc: Command, folder: Path) -> None:
    forge_lines(folder / "log", 2)
    written(folder / "log", "one", count=1)
    shown = aioc("audit", "verify", "log", "--keys", "writer.json")
    assert shown.status == 0
    assert "  10-11 unprotected, not vouched for" in shown.out
    ranges = aioc("audit", "verify", "log", "--keys", "writer.json", "--json").document["writers"][0]["ranges"]
    assert ranges[1] == {"first": 10, "last": 11, "protection": "unprotected", "vouched": False}


def test_each_anchor_says_when_it_was_taken_and_what_it_covers(aioc: Command, folder: Path) -> None:
    AuditKey(bytes(range(2, 34))).save_public("anchor.json")
    AuditKey(bytes(range(2, 34))).save("anchor.key")
    assert (
        aioc("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "anchor.key", "--out", "new").status
        == 0
    )
    heads = verified(folder / "log").checkpoints[:1]
    old = anchor_text("2026-01-01T00:00:00.000Z", heads)
    key = AuditKey(bytes(range(2, 34)))
    (folder / "old").write_text(signed_note(old, NoteKey("aioc-opa/audit", key.public_key), key.sign_raw(old.encode())))
    verify = ("audit", "verify", "log", "--keys", "writer.json", "--anchor-keys", "anchor.json")
    with_old = aioc(*verify, "--anchor", "old")
    assert with_old.status == 0
    assert "anchor of 2026-01-01T00:00:00.000Z: one up to 9" in with_old.out
    for age in ("36h", "7d", "90m", "2026-01-01T00:00:00.001Z"):
        too_old = aioc(*verify, "--anchor", "old", "--anchor-not-older-than", age)
        assert too_old.status == 1
        assert "FOUND anchor_too_old: no anchor is of " in too_old.out
        assert "1 found, against 1 anchors" in too_old.out
        assert aioc(*verify, "--anchor", "old", "--anchor", "new", "--anchor-not-older-than", age).status == 0
    of_two = anchor_text("2126-01-01T00:00:00.000Z", verified(folder / "log").checkpoints[1:])
    signed = signed_note(of_two, NoteKey("aioc-opa/audit", key.public_key), key.sign_raw(of_two.encode()))
    (folder / "of-two").write_text(signed)
    assert aioc(*verify, "--anchor", "of-two", "--anchor-not-older-than", "1d").status == 0
    assert aioc(*verify, "--anchor", "old", "--anchor", "of-two", "--anchor-not-older-than", "1d").status == 1
    document = aioc(*verify, "--anchor", "old", "--anchor-not-older-than", "1d", "--json").document
    assert (document["sound"], document["anchorsTooOld"], document["anchors"]) == (False, True, 1)
    assert document["compared"] == [{"at": "2026-01-01T00:00:00.000Z", "covers": [{"writer": "one", "sequence": 9}]}]
    for wrong in ("", "1", "d", "0h", "soon", "-1d", "999999d"):
        assert aioc(*verify, "--anchor", "old", "--anchor-not-older-than", wrong).status == 2, wrong
    assert aioc(*verify, "--anchor-not-older-than", "1d").status == 2


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
