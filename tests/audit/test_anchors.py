"""Anchors: what a log's writer cannot take back, in a format that other tools read."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.webhook_signature import verify_webhook
from aioc_opa.audit.anchoring import (
    AnchorNotSentError,
    make_anchor,
    note_verifier_key,
    read_anchor,
    send_anchor,
    write_anchor,
)
from aioc_opa.audit.keys import AuditKey, public_keys_of, read_public_keys
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.verifier import verify
from aioc_opa.core.audit.anchors import anchor_of
from aioc_opa.core.audit.notes import NoteKey
from aioc_opa.errors import ConfigurationError, InputFileError
from tests.approvals.receiver import Receiver
from tests.audit import logs
from tests.audit.logs import KEY, KEYS, OTHER_KEY, codes, verified, written

if TYPE_CHECKING:
    from pathlib import Path

SECRET = bytes(range(32))


def test_an_anchor_is_a_c2sp_signed_note_of_every_writers_latest_checkpoint(tmp_path: Path) -> None:
    for writer in ("one", "two"):
        written(tmp_path / "log", writer, count=3)
    note = make_anchor(verified(tmp_path / "log").checkpoints, KEY, key_name="example.com/audit")
    text, _, line = note.rpartition("\n\n")
    dash, name, encoded = line.removesuffix("\n").split(" ")
    raw = base64.b64decode(encoded)
    assert (dash, name) == ("\u2014", "example.com/audit")
    assert raw[:4] == hashlib.sha256(b"example.com/audit\n\x01" + KEY.public_key).digest()[:4]
    assert raw[4:] == KEY.sign_raw((text + "\n").encode())
    assert [head.writer for head in anchor_of(text + "\n").heads] == ["one", "two"]
    assert anchor_of(text + "\n").heads == verified(tmp_path / "log").checkpoints
    key = note_verifier_key(NoteKey("example.com/audit", KEY.public_key))
    assert key.split("+")[:2] == ["example.com/audit", raw[:4].hex()]


def test_an_anchor_is_believed_by_its_key_and_name_alone(tmp_path: Path) -> None:
    written(tmp_path / "log", count=3)
    source, path = FolderSource(tmp_path / "log"), tmp_path / "note"
    write_anchor(make_anchor(verified(tmp_path / "log").checkpoints, OTHER_KEY, key_name="auditor"), path)
    believed = public_keys_of(OTHER_KEY)
    anchor = read_anchor(path, believed, key_name="auditor")
    assert verify(source, KEYS, anchors=[anchor]).sound
    for keys, name in ((KEYS, "auditor"), (believed, "other")):
        with pytest.raises(InputFileError, match="no known key"):
            read_anchor(path, keys, key_name=name)
    content = path.read_text()
    changed = tmp_path / "changed"
    for wrong in (
        content.replace("one ", "two ", 1), content[:-1], content.replace("\n\n", "\n"), content + "x\n", "", "\xff",
        content.replace("\u2014", "-"),
    ):  # fmt: skip
        changed.write_text(wrong, encoding="latin-1" if wrong == "\xff" else "utf-8")
        with pytest.raises(InputFileError):
            read_anchor(changed, believed, key_name="auditor")
    with pytest.raises(InputFileError, match="cannot be read"):
        read_anchor(tmp_path / "missing", believed)
    with pytest.raises(InputFileError, match="is there already"):
        write_anchor(content, path)


def test_a_missing_writer_a_cut_and_a_log_written_anew_with_the_key_are_found(tmp_path: Path) -> None:
    for writer in ("one", "two"):
        written(tmp_path / "log", writer, count=8)
    anchor = logs.anchor_of(tmp_path / "log", tmp_path / "note")
    for path in (tmp_path / "log").glob("two.*"):
        path.unlink()
    assert codes(verified(tmp_path / "log", anchor)) == ["missing_writer"]
    written(tmp_path / "log", "two", count=8)
    assert "anchor_mismatch" in codes(verified(tmp_path / "log", anchor))
    assert "spliced" in codes(verified(tmp_path / "log", anchor))
    report = verify(FolderSource(tmp_path / "log"), KEYS, expected_writers=["one", "three"])
    assert codes(report) == ["missing_writer"]


def test_there_is_nothing_to_anchor_before_a_checkpoint_nor_under_a_name_with_blanks(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with pytest.raises(InputFileError, match="no checkpoint"):
        make_anchor(verified(tmp_path / "log").checkpoints, KEY)
    written(tmp_path / "log", count=1)
    with pytest.raises(ConfigurationError):
        make_anchor(verified(tmp_path / "log").checkpoints, KEY, key_name="a b")


def test_an_anchor_is_posted_signed(tmp_path: Path) -> None:
    written(tmp_path / "log", count=1)
    note = make_anchor(verified(tmp_path / "log").checkpoints, KEY)
    with Receiver(204, 500) as receiver:
        send_anchor(note, receiver.url, SECRET)
        with pytest.raises(AnchorNotSentError, match="status 500") as refusal:
            send_anchor(note, receiver.url, SECRET)
        assert "hooks" not in str(refusal.value)
        arrived = receiver.wait_for(2)[0]
    message = json.loads(verify_webhook(arrived.headers, arrived.body, SECRET).body)
    assert message["type"] == "audit.anchor"
    assert message["data"] == {"note": note}
    with pytest.raises(AnchorNotSentError):
        send_anchor(note, "http://127.0.0.1:1/x", SECRET, timeout_seconds=5)
    with pytest.raises(ConfigurationError):
        send_anchor(note, "http://example.com/x", SECRET)


def test_keys_are_saved_for_their_owner_and_read_back(tmp_path: Path) -> None:
    key = AuditKey.generate()
    key.save(tmp_path / "key")
    key.save_public(tmp_path / "pub")
    assert AuditKey.load(tmp_path / "key").public_key == key.public_key
    assert read_public_keys(tmp_path / "pub") == {key.key_id: key.public_key}
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert repr(key) == f"AuditKey(key_id={key.key_id!r})"
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(InputFileError, match="others have rights"):
        AuditKey.load(tmp_path / "key")
    with pytest.raises(InputFileError, match="cannot be written"):
        key.save(tmp_path / "missing" / "key")
    with pytest.raises(ConfigurationError):
        AuditKey(b"short")


@pytest.mark.parametrize(
    "entry",
    [
        {"keyId": "audit-0000000000000000", "publicKey": base64.b64encode(KEY.public_key).decode()},
        {"keyId": KEY.key_id, "publicKey": base64.b64encode(bytes(32)).decode()},
        {"keyId": KEY.key_id, "publicKey": "short"},
    ],
)
def test_a_public_key_that_is_none_is_refused(entry: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "pub").write_text(json.dumps({"keys": [entry]}))
    with pytest.raises(InputFileError):
        read_public_keys(tmp_path / "pub")


def test_a_private_key_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text('{"auditKey": "x"}')
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InputFileError, match="auditKey"):
        AuditKey.load(tmp_path / "key")
