"""A key signs for the writers that it is for, and only after its writer has said that it is the one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey, PublicKeys, public_keys_of, read_public_keys
from aioc_opa.audit.sources import FolderSource
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.audit.verifier import verify
from aioc_opa.errors import ConfigurationError, InputFileError
from tests.audit.forging import forge_lines
from tests.audit.logs import KEY, OTHER_KEY, codes, written
from tests.audit.tampering import Log

if TYPE_CHECKING:
    from pathlib import Path

BOUND = PublicKeys(public_keys_of(KEY, OTHER_KEY), {KEY.key_id: ["one"], OTHER_KEY.key_id: ["two"]})


def found(folder: Path, keys: PublicKeys | dict[str, bytes]) -> list[str]:
    return codes(verify(FolderSource(folder), keys))


def signed_again(folder: Path, key: AuditKey, *, announces: bool) -> None:
    """The whole log of the writer ``one`` is written anew by who has another key."""
    path = folder / "one.00000001.jsonl"
    log = Log.of({path.name: path.read_bytes()}, "one")
    for record in log.files[path.name]:
        if announces and record["content"]["type"] == "writer_started":
            record["content"].update(key.public_entry())
    log.rechain(0, key)
    path.write_bytes(log.written()[path.name])
    (folder / "one.head").unlink()


def test_each_writers_own_key_signs_its_log(tmp_path: Path) -> None:
    written(tmp_path, "one", count=3)
    written(tmp_path, "two", count=3, key=OTHER_KEY)
    assert found(tmp_path, BOUND) == []


def test_the_key_of_another_writer_does_not_sign_this_ones_log(tmp_path: Path) -> None:
    written(tmp_path, "one", count=3, segment_bytes=10**6)
    signed_again(tmp_path, OTHER_KEY, announces=True)
    assert set(found(tmp_path, BOUND)) == {"key_of_another_writer"}
    report = verify(FolderSource(tmp_path), BOUND)
    assert [part.protection for part in report.writers[0].ranges] == ["unprotected"]
    assert report.checkpoints == ()
    assert report.writers[0].keys == ()
    # Without the list there is nothing to tell that by, and the log names its key.
    assert found(tmp_path, public_keys_of(KEY, OTHER_KEY)) == []
    assert verify(FolderSource(tmp_path), public_keys_of(KEY, OTHER_KEY)).writers[0].keys == (OTHER_KEY.key_id,)


def test_a_checkpoint_by_a_key_that_the_writer_has_not_announced_is_found(tmp_path: Path) -> None:
    written(tmp_path, "one", count=3, segment_bytes=10**6)
    signed_again(tmp_path, OTHER_KEY, announces=False)
    assert found(tmp_path, public_keys_of(KEY, OTHER_KEY)) == ["key_not_announced"]


def test_a_key_rotates_by_a_new_start(tmp_path: Path) -> None:
    written(tmp_path, "one", count=3)
    written(tmp_path, "one", count=3, key=OTHER_KEY)
    assert found(tmp_path, public_keys_of(KEY, OTHER_KEY)) == []
    both = {KEY.key_id: ["one"], OTHER_KEY.key_id: ["two", "one"]}
    assert found(tmp_path, PublicKeys(public_keys_of(KEY, OTHER_KEY), both)) == []


def test_a_start_that_announces_a_known_id_with_another_key_is_found(tmp_path: Path) -> None:
    written(tmp_path, "one", count=1, segment_bytes=10**6)
    lie = {"type": "writer_started", "mode": "required", **OTHER_KEY.public_entry(), "keyId": KEY.key_id}
    forge_lines(tmp_path, 0, lie)
    assert found(tmp_path, public_keys_of(KEY)) == ["unknown_key"]


def test_the_writers_of_a_key_are_read_from_the_file(tmp_path: Path) -> None:
    key = AuditKey(bytes(range(2, 34)), writers=["two", "three"])
    key.save_public(tmp_path / "keys.json")
    keys = read_public_keys(tmp_path / "keys.json")
    assert [keys.may_sign(key.key_id, name) for name in ("two", "three", "one")] == [True, True, False]
    KEY.save_public(tmp_path / "any.json")
    assert read_public_keys(tmp_path / "any.json").may_sign(KEY.key_id, "whoever")


@pytest.mark.parametrize("wrong", [[], ["a.b"], "one", [1], None])
def test_a_list_of_writers_that_is_none_is_refused(wrong: Any, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [{**KEY.public_entry(), "writers": wrong}]}))
    with pytest.raises(InputFileError, match="writers"):
        read_public_keys(tmp_path / "keys.json")


def test_a_writer_of_another_name_refuses_the_key_and_writes_nothing(tmp_path: Path) -> None:
    AuditKey.generate(writers=["one", "two"]).save(tmp_path / "audit.key")
    key = AuditKey.load(tmp_path / "audit.key")
    assert key.writers == ("one", "two")
    log = tmp_path / "log"
    with pytest.raises(
        ConfigurationError, match=f"the key {key.key_id} is for the log of one, two, not for that of six"
    ):
        AuditTrail(JsonLinesSink(log), writer="six", key=key)
    assert not list(log.rglob("six*"))
    AuditTrail(JsonLinesSink(log), writer="two", key=key).close()
    key.save_public(tmp_path / "audit.pub.json")
    assert found(log, read_public_keys(tmp_path / "audit.pub.json")) == []


@pytest.mark.parametrize("wrong", [[], ["a.b"], "one", [1], None])
def test_a_private_key_with_a_list_of_writers_that_is_none_is_refused(wrong: Any, tmp_path: Path) -> None:
    AuditKey.generate().save(tmp_path / "audit.key")
    document = json.loads((tmp_path / "audit.key").read_text())
    (tmp_path / "audit.key").write_text(json.dumps({**document, "writers": wrong}))
    with pytest.raises(InputFileError, match="writers"):
        AuditKey.load(tmp_path / "audit.key")


def test_keys_of_several_files_count_and_one_that_is_in_two_is_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    AuditKey(bytes(range(2, 34)), writers=["one"]).save_public(one)
    KEY.save_public(two)
    keys = read_public_keys(one, two)
    assert len(keys) == 2
    assert keys.may_sign(KEY.key_id, "any")
    AuditKey(bytes(range(2, 34)), writers=["two"]).save_public(tmp_path / "again.json")
    with pytest.raises(InputFileError, match=f"this key is in {one} already"):
        read_public_keys(one, two, tmp_path / "again.json")


def test_one_entry_names_all_writers_of_a_key(tmp_path: Path) -> None:
    twice = [{**KEY.public_entry(), "writers": ["one"]}, KEY.public_entry()]
    (tmp_path / "keys.json").write_text(json.dumps({"keys": twice}))
    with pytest.raises(InputFileError, match="already; one entry names all its writers"):
        read_public_keys(tmp_path / "keys.json")
