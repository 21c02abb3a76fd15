"""Public keys, in files and in code, and development keys."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aioc_opa.approvals import rights
from aioc_opa.approvals.keys import (
    AuthorityHolder,
    DevelopmentKeysWarning,
    PersonHolder,
    SigningKey,
    VoteKey,
    VoteKeys,
    development_keys,
)  # fmt: skip
from aioc_opa.errors import ConfigurationError, InputFileError
from tests.approvals.key_cases import ANN, write

PUBLIC = SigningKey(b"p" * 32, key_id="k", holder=AuthorityHolder()).public_key
OTHER = SigningKey(b"o" * 32, key_id="k", holder=AuthorityHolder()).public_key


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def test_keys_from_a_file_are_found_by_exactly_their_id(tmp_path: Path) -> None:
    authority, personal = SigningKey.generate(key_id="authority-1"), SigningKey.generate(key_id="ann-1", holder=ANN)
    entries = [authority.public_entry(), personal.public_entry(roles={"legal", "finance"})]
    path = write(tmp_path / "keys.json", {"keys": [entry.to_json() for entry in entries]}, 0o644)
    keys = VoteKeys.from_file(path)
    assert list(keys) == entries
    assert len(keys) == 2
    assert keys.find("ann-1") == entries[1]
    for other in ("Ann-1", "ann-1 ", "ann", "", "\u0430nn-1"):
        assert keys.find(other) is None


def test_no_key_at_all_is_a_set_of_keys_by_which_nobody_votes(tmp_path: Path) -> None:
    assert len(VoteKeys.from_file(write(tmp_path / "keys.json", {"keys": []}))) == 0


@pytest.mark.parametrize("mode", [0o646, 0o664, 0o666, 0o620])
def test_public_keys_that_others_may_write_are_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "keys.json", {"keys": []}, mode)
    with pytest.raises(InputFileError, match=f"chmod go-w {path}"):
        VoteKeys.from_file(path)


def of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on everything here belongs to somebody who is neither this user nor root."""
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    monkeypatch.setattr(rights, "_ROOT", me + 2)


def test_public_keys_of_another_user_are_refused_and_roots_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "keys.json", {"keys": []}, 0o444)
    of_another_user(monkeypatch)
    with pytest.raises(InputFileError, match=r"belongs to another user.*chown"):
        VoteKeys.from_file(path)
    monkeypatch.setattr(rights, "_ROOT", path.stat().st_uid)
    assert len(VoteKeys.from_file(path)) == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707])
def test_public_keys_in_a_folder_that_others_may_write_are_refused_unless_it_is_sticky(
    tmp_path: Path, mode: int
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    path = write(folder / "keys.json", {"keys": []}, 0o644)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    folder.chmod(mode)
    for name in (path, link):
        with pytest.raises(InputFileError, match=f"others may write its folder.*chmod go-w {folder}"):
            VoteKeys.from_file(name)
    folder.chmod(mode | 0o1000)
    for name in (path, link):
        assert len(VoteKeys.from_file(name)) == 0


def test_a_link_in_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "link.json").symlink_to(write(tmp_path / "keys.json", {"keys": []}, 0o644))
    folder.chmod(0o777)
    with pytest.raises(InputFileError, match="others may write its folder"):
        VoteKeys.from_file(folder / "link.json")


@pytest.mark.parametrize("foreign", ["link", "folder"])
def test_a_link_or_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: str
) -> None:
    write(tmp_path / "keys.json", {"keys": []}, 0o644)
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "keys.json")
    method = "lstat" if foreign == "link" else "stat"
    real = getattr(Path, method)
    of_whom = link if foreign == "link" else tmp_path

    def owned(self: Path, **options: Any) -> os.stat_result:
        found = real(self, **options)
        return os.stat_result((*found[:4], os.geteuid() + 1, *found[5:])) if self == of_whom else found

    monkeypatch.setattr(Path, method, owned)
    with pytest.raises(InputFileError, match="belongs to another user"):
        VoteKeys.from_file(link)


@pytest.mark.parametrize(("mode", "read_only"), [(0o1777, False), (0o777, True)], ids=["Secret", "ConfigMap"])
def test_keys_in_a_mounted_volume_of_kubernetes_are_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, *, read_only: bool
) -> None:
    """keys.json → ..data/keys.json, ..data → ..2026_12_01/: links of root, in a folder that is open to everybody."""
    volume = tmp_path / "volume"
    (volume / "..2026_12_01").mkdir(parents=True)
    write(volume / "..2026_12_01" / "keys.json", {"keys": []}, 0o644)
    (volume / "..data").symlink_to("..2026_12_01")
    (volume / "keys.json").symlink_to("..data/keys.json")
    volume.chmod(mode)
    if read_only:
        with pytest.raises(InputFileError, match="others may write its folder"):
            VoteKeys.from_file(volume / "keys.json")
        real = os.statvfs
        flags = SimpleNamespace(f_flag=real(volume).f_flag | os.ST_RDONLY)
        monkeypatch.setattr(os, "statvfs", lambda folder: flags)
    assert len(VoteKeys.from_file(volume / "keys.json")) == 0


def public(**changes: Any) -> dict[str, Any]:
    entry = {"keyId": "k", "publicKey": b64(PUBLIC), "authority": True, **changes}
    return {name: value for name, value in entry.items() if value is not ...}


SMALL_ORDER = [bytes(32), b"\1" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([public(), public()], r"\$\.keys\[1\]\.keyId: another key has this id"),
        ([public(), public(keyId="K", publicKey=b64(OTHER))], r"\$\.keys\[1\]\.keyId: .*only in case"),
        ([public(), public(keyId="l")], r"\$\.keys\[1\]\.publicKey: this key stands here under another id"),
        ([public(keyId="\u043a")], r"\$\.keys\[0\]\.keyId: 1 to 128 ASCII"),
        ([public(keyId="k\n")], r"\$\.keys\[0\]\.keyId: 1 to 128 ASCII"),
        ([public(keyId="-k")], r"\$\.keys\[0\]\.keyId: 1 to 128 ASCII"),
        ([public(keyId="")], r"\$\.keys\[0\]\.keyId: "),
        ([public(publicKey=b64(PUBLIC[:31]))], r"\$\.keys\[0\]\.publicKey: must be the base64 of 32"),
        ([public(publicKey=b64(PUBLIC).rstrip("="))], r"\$\.keys\[0\]\.publicKey: must be the base64 of 32"),
        ([public(publicKey=PUBLIC.hex())], r"\$\.keys\[0\]\.publicKey: must be the base64 of 32"),
        ([public(publicKey=[1])], r"\$\.keys\[0\]\.publicKey: must be a string"),
        *[([public(publicKey=b64(raw))], r"\$\.keys\[0\]\.publicKey: .*small order") for raw in SMALL_ORDER],
        ([public(publicKey=b64(b"\2" + bytes(31)))], r"\$\.keys\[0\]\.publicKey: .*no point"),
        ([public(publicKey=b64(b"\xff" * 32))], r"\$\.keys\[0\]\.publicKey: .*canonical"),
        ([public(authority=...)], r"\$\.keys\[0\]: either authority, or personId and roles"),
        ([public(authority=False)], r"\$\.keys\[0\]: either authority, or"),
        ([public(authority=1)], r"\$\.keys\[0\]\.authority: "),
        ([public(personId="ann", roles=["finance"])], r"\$\.keys\[0\]: either authority, or personId and roles"),
        ([public(roles=["finance"])], r"\$\.keys\[0\]: either authority, or personId and roles"),
        ([public(authority=..., personId="ann")], r"\$\.keys\[0\]: either authority, or personId and roles"),
        ([public(authority=..., personId="ann", roles=[])], r"\$\.keys\[0\]\.roles: "),
        ([public(authority=..., personId="ann", roles="finance")], r"\$\.keys\[0\]\.roles: "),
        ([public(authority=..., personId="", roles=["finance"])], r"\$\.keys\[0\]\.personId: "),
        ([public(privateKey="x")], r"\$\.keys\[0\]\.privateKey: is not known here"),
        ({}, r"\$\.keys: "),
    ],
)
def test_a_malformed_file_of_keys_is_refused_at_its_place(tmp_path: Path, keys: Any, place: str) -> None:
    path = write(tmp_path / "keys.json", {"keys": keys})
    with pytest.raises(InputFileError, match=place) as refused:
        VoteKeys.from_file(path)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((1, PUBLIC, AuthorityHolder()), "keyId"),
        (("k", b64(PUBLIC), AuthorityHolder()), "publicKey: must be bytes"),
        (("k", bytes(32), AuthorityHolder()), "small order"),
        (("k", PUBLIC, ANN), "holder"),
        (("k", PUBLIC, None), "holder"),
        (("k", PUBLIC, PersonHolder("", frozenset({"r"}))), "personId"),
        (("k", PUBLIC, PersonHolder("ann", frozenset())), "roles"),
        (("k", PUBLIC, PersonHolder("ann", "finance")), "roles"),  # type: ignore[arg-type] # a string is no set of roles
    ],
)
def test_a_key_made_in_code_is_held_to_the_same_rules(arguments: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        VoteKey(*arguments)


def test_a_refused_rotation_changes_nothing() -> None:
    first = SigningKey.generate().public_entry()
    keys = VoteKeys([first])
    with pytest.raises(ConfigurationError, match=r"keys\[1\]\.keyId"):
        keys.replace([first, first])
    assert list(keys) == [first]


# Development keys


def test_development_keys_are_made_on_first_use_and_say_so_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "keys"
    with pytest.warns(DevelopmentKeysWarning, match="can approve anything") as warned:
        key, keys = development_keys(folder)
    assert warned[0].filename == __file__
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.warns(DevelopmentKeysWarning):
        again, _ = development_keys(str(folder))
    assert again.key_id == key.key_id
    found = keys.find(key.key_id)
    assert found is not None
    assert found.verifies(b"text", again.sign(b"text"))
    assert found.holder == AuthorityHolder()


def test_two_that_come_at_once_get_the_same_development_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = SigningKey.generate

    def overtaken(**changes: Any) -> SigningKey:
        generate().save(tmp_path / "development-vote-key.json")
        return generate(**changes)

    monkeypatch.setattr(SigningKey, "generate", overtaken)
    with pytest.warns(DevelopmentKeysWarning):
        key, _ = development_keys(tmp_path)
    assert key.public_key == SigningKey.load(tmp_path / "development-vote-key.json").public_key


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputFileError, match="cannot be used"):
        development_keys(tmp_path / "file")
    with pytest.raises(InputFileError, match="cannot be used"):
        development_keys("nul\0l")


def test_without_the_extra_a_key_names_it() -> None:
    code = (
        "import sys; sys.modules['cryptography.hazmat.primitives.asymmetric.ed25519'] = None\n"
        "from aioc_opa.approvals.keys import SigningKey, VoteKey, AuthorityHolder\n"
        "from aioc_opa.errors import ConfigurationError\n"
        f"key = VoteKey('k', {PUBLIC!r}, AuthorityHolder())\n"
        "for use in (SigningKey.generate, lambda: key.verifies(b'', '')):\n"
        "    try:\n        use()\n    except ConfigurationError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.count("pip install 'aioc-opa[approvals]'") == 2


def test_the_library_alone_would_take_a_key_of_small_order() -> None:
    """Why `VoteKey` looks at the point itself: if this ever fails, the library does."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    assert Ed25519PublicKey.from_public_bytes(bytes(32))
    assert Ed25519PrivateKey.generate()
