"""`aioc-opa audit …`, as an operator and an auditor run it."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.keys import AuditKey
from tests.approvals.receiver import Receiver
from tests.audit.logs import KEY, event, trail, written
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
    for said in ("events are not in it", "1 writes were cut off, and repaired", "1 bytes after the last record"):
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


@pytest.mark.parametrize("command", ["verify", "tail", "export", "anchor", "keygen"])
def test_help_teaches(aioc: Command, command: str) -> None:
    shown = aioc("audit", command, "--help")
    assert shown.status == 0
    assert f"aioc-opa audit {command} " in shown.out
    assert "Exit status: 0" in shown.out
