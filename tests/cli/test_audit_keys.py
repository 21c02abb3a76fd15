"""Keys and anchors of `aioc-opa audit …`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aioc_opa.audit.keys import AuditKey
from aioc_opa.core.audit.anchors import anchor_text
from aioc_opa.core.audit.notes import NoteKey, signed_note
from tests.approvals.receiver import Receiver
from tests.audit.logs import KEY, OTHER_KEY, verified, written

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.conftest import Command


def test_keys_are_made_once_and_the_public_half_is_said(aioc: Command, tmp_path: Path) -> None:
    key, public = str(tmp_path / "w.key"), tmp_path / "w.json"
    made = aioc("audit", "keygen", key, "--public", str(public))
    assert made.status == 0
    assert json.loads(public.read_text())["keys"] == [made.document]
    assert AuditKey.load(key).key_id == made.document["keyId"]
    assert aioc("audit", "keygen", f"{key}.two", "--writer", "two").document["writers"] == ["two"]
    assert AuditKey.load(f"{key}.two").writers == ("two",)
    assert aioc("audit", "keygen", key).status == 3


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


def test_each_writers_key_can_be_in_a_file_of_its_own(aioc: Command, folder: Path) -> None:
    OTHER_KEY.save_public("other.json")
    written(folder / "log", "three", count=1, key=OTHER_KEY)
    both = ("--keys", "writer.json", "--keys", "other.json")
    for command in ("verify", "report"):
        assert aioc("audit", command, "log", *both).status == 0
        for one in (both[:2], both[2:]):
            assert aioc("audit", command, "log", *one).status == 1
    keys = ("--anchor-keys", "writer.json", "--anchor-keys", "anchor.json")
    AuditKey(bytes(range(2, 34))).save_public("anchor.json")
    AuditKey(bytes(range(2, 34))).save("anchor.key")
    assert aioc("audit", "anchor", "log", *both, "--signing-key", "anchor.key", "--out", "note").status == 0
    assert aioc("audit", "verify", "log", *both, "--anchor", "note", *keys).status == 0
    assert aioc("audit", "verify", "log", *both, *both[:2]).status == 3


def test_a_log_is_anchored_and_verified_against_the_anchor(aioc: Command, folder: Path) -> None:
    assert aioc("audit", "keygen", "anchor.key", "--public", "anchor.json").status == 0
    anchored = aioc("audit", "anchor", "log", "--keys", "writer.json", "--signing-key", "anchor.key", "--out", "a.note")
    assert anchored.status == 0, anchored.err
    verify = ("audit", "verify", "log", "--keys", "writer.json", "--anchor", "a.note", "--anchor-keys", "anchor.json")
    fine = aioc(*verify)
    assert fine.status == 0
    assert "nothing found, against 1 anchor\n" in fine.out
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
        assert "1 found, against 1 anchor\n" in too_old.out
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
