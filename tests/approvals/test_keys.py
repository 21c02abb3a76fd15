"""Vote keys: public ones in the guard, private ones in a file of their owner (design 3.5)."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.keys import (
    AccountHolder,
    AuthorityHolder,
    PersonHolder,
    SigningKey,
)  # fmt: skip
from aioc_opa.errors import ConfigurationError, InputFileError
from tests.approvals.key_cases import ANN, write

if TYPE_CHECKING:
    from pathlib import Path

SEED = base64.b64encode(b"canary-seed-".ljust(32, b"!")).decode()


@pytest.mark.parametrize("holder", [AuthorityHolder(), ANN])
def test_a_saved_key_comes_back_with_its_holder(tmp_path: Path, holder: AuthorityHolder | AccountHolder) -> None:
    key = SigningKey.generate(holder=holder)
    key.save(tmp_path / "key.json")
    loaded = SigningKey.load(tmp_path / "key.json")
    assert (loaded.key_id, loaded.public_key, loaded.holder) == (key.key_id, key.public_key, holder)
    assert loaded.sign(b"text") == key.sign(b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["key.json"]


def test_a_key_is_the_authoritys_by_default_and_its_id_follows_from_its_public_half() -> None:
    key = SigningKey.generate()
    assert key.holder == AuthorityHolder()
    assert key.key_id == SigningKey(key._seed, key_id=None, holder=ANN).key_id
    assert key.key_id != SigningKey.generate().key_id


def test_signatures_are_ed25519_of_rfc_8032() -> None:
    # Section 7.1, test 2.
    seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    key = SigningKey(seed, key_id="rfc", holder=AuthorityHolder())
    assert key.public_key.hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    expected = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert base64.b64decode(key.sign(b"\x72")).hex() == expected
    assert key.public_entry().verifies(b"\x72", key.sign(b"\x72"))
    assert not key.public_entry().verifies(b"\x73", key.sign(b"\x72"))


def test_a_key_shows_nothing_private() -> None:
    key = SigningKey(base64.b64decode(SEED), key_id="k", holder=ANN)
    assert "canary" not in repr(key)
    assert SEED not in repr(key)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o610, 0o644, 0o666, 0o777])
def test_a_private_key_that_others_have_rights_to_is_refused_with_what_helps(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key.json"
    SigningKey.generate().save(path)
    path.chmod(mode)
    with pytest.raises(InputFileError, match=f"chmod 600 {path}"):
        SigningKey.load(path)


def test_a_saved_key_has_mode_600_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SigningKey.generate().save(tmp_path / "key.json")
    finally:
        os.umask(before)
    assert (tmp_path / "key.json").stat().st_mode & 0o777 == 0o600


def test_a_private_key_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    SigningKey.generate().save(tmp_path / "key.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "key.json")
    with pytest.raises(InputFileError, match="a symbolic link"):
        SigningKey.load(tmp_path / "link.json")


def test_a_private_key_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SigningKey.generate().save(tmp_path / "key.json")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(InputFileError, match="belongs to another user"):
        SigningKey.load(tmp_path / "key.json")


def test_what_is_no_file_is_refused_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(InputFileError, match="not a regular file"):
        SigningKey.load(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="cannot be read"):
        SigningKey.load(tmp_path)
    with pytest.raises(InputFileError, match="cannot be read: No such file"):
        SigningKey.load(tmp_path / "none")
    with pytest.raises(InputFileError, match="cannot be read"):
        SigningKey.load("nul\0l")


def test_a_key_is_never_written_over_another(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    SigningKey.generate().save(path)
    content = path.read_bytes()
    with pytest.raises(InputFileError, match="is there already"):
        SigningKey.generate().save(path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputFileError, match="is there already"):
        SigningKey.generate().save(tmp_path / "link")
    assert path.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.json", "link"]


def test_a_key_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot be written: No such file"):
        SigningKey.generate().save(tmp_path / "none" / "key.json")
    with pytest.raises(InputFileError, match="cannot be written"):
        SigningKey.generate().save("nul\0l")


ENTRY: dict[str, Any] = {"keyId": "k", "privateKey": SEED, "holder": {"authority": True}}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("", r"\$: it is empty"),
        ("[]", r"\$: the top level"),
        ("{", "not strict JSON at character 1"),
        ('{"keyId":"k","keyId":"k"}', r"\$\.keyId: .*duplicate_key"),
        ({}, r"\$\.keyId: is missing"),
        ({**ENTRY, "more": 1}, r"\$\.more: is not known here"),
        ({**ENTRY, "key_id": "k"}, r"\$\.key_id: is not known here"),
        ({**ENTRY, "keyId": 1}, r"\$\.keyId: must be a string"),
        ({**ENTRY, "keyId": "a b"}, r"\$\.keyId: ASCII letters"),
        ({**ENTRY, "privateKey": SEED[:-4]}, r"\$\.privateKey: must be the base64 of 32 bytes"),
        ({**ENTRY, "privateKey": SEED + "\n"}, r"\$\.privateKey: must be the base64 of 32 bytes"),
        ({**ENTRY, "privateKey": SEED * 2}, r"\$\.privateKey: String should have at most 64"),
        ({**ENTRY, "privateKey": None}, r"\$\.privateKey: must be a string"),
        ({**ENTRY, "holder": {}}, r"\$\.holder: either authority, or"),
        ({**ENTRY, "holder": None}, r"\$\.holder: "),
        ({**ENTRY, "holder": {"authority": False}}, r"\$\.holder: either authority, or"),
        ({**ENTRY, "holder": {"authority": 1}}, r"\$\.holder\.authority: "),
        ({**ENTRY, "holder": {"authority": "true"}}, r"\$\.holder\.authority: "),
        ({**ENTRY, "holder": {"personId": "ann"}}, r"\$\.holder: either authority, or"),
        ({**ENTRY, "holder": {"personId": "ann", "issuer": "i", "subject": ""}}, r"\$\.holder\.subject: "),
        (
            {**ENTRY, "holder": {"authority": True, "personId": "ann", "issuer": "i", "subject": "s"}},
            r"\$\.holder: either authority, or",
        ),
    ],
)
def test_a_malformed_key_file_is_refused_at_its_place_without_the_key(tmp_path: Path, content: Any, place: str) -> None:
    path = write(tmp_path / "key.json", content)
    with pytest.raises(InputFileError, match=place) as refused:
        SigningKey.load(path)
    assert str(path) in str(refused.value)
    assert SEED[:8] not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "parts", [("", "i", "s"), ("a", "", "s"), ("a", "i", ""), ("a" * 129, "i", "s"), ("a", "i" * 513, "s")]
)
def test_a_holder_that_a_key_file_could_not_say_is_refused(parts: tuple[str, str, str]) -> None:
    with pytest.raises(ConfigurationError, match="1 to "):
        AccountHolder(*parts)


@pytest.mark.parametrize("seed", [b"", b"s" * 31, b"s" * 33, bytearray(32), "s" * 32])
def test_a_seed_is_32_bytes(seed: Any) -> None:
    with pytest.raises(ConfigurationError, match="privateKey"):
        SigningKey(seed, key_id=None, holder=ANN)


def test_the_public_half_of_a_persons_key_has_roles_and_the_authoritys_has_none() -> None:
    personal = SigningKey.generate(holder=ANN)
    assert personal.public_entry(roles=["finance"]).holder == PersonHolder("ann", frozenset({"finance"}))
    with pytest.raises(ConfigurationError, match="at least one registered role"):
        personal.public_entry()
    with pytest.raises(ConfigurationError, match="registered for none"):
        SigningKey.generate().public_entry(roles=["finance"])
    with pytest.raises(ConfigurationError, match="keyId"):
        SigningKey.generate(key_id="")


# Public keys
