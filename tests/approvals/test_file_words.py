"""What a malformed file of keys or people is answered with: the file, the entry, the member, and what must stand there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.keys import AccountHolder, SigningKey, VoteKeys
from aioc_opa.approvals.people import PeopleFile
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-in-the-file"
FIRST = SigningKey(b"1" * 32, key_id="k1", holder=AccountHolder("ann", "i", "s")).public_entry(roles=["r"]).to_json()
SECOND = SigningKey(b"2" * 32, key_id="k2", holder=AccountHolder("bob", "i", "t")).public_entry(roles=["r"]).to_json()
ANN = {"personId": "ann", "roles": ["r"], "accounts": [{"issuer": "i", "subject": "s"}], "identities": ["ann"]}
BOB = {"personId": "bob", "roles": ["r"], "accounts": [{"issuer": "i", "subject": "t"}], "identities": ["bob"]}


def second(entry: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**entry, **changes}.items() if value is not None}


KEYS: list[tuple[str, Any, str]] = [
    ("no list", {}, "$.keys: is missing"),
    ("no array", {"keys": {}}, "$.keys: must be an array"),
    ("no object", {"keys": [CANARY]}, "$.keys[0]: must be an object"),
    ("no key", {"keys": [FIRST, second(SECOND, publicKey=None)]}, "$.keys[1].publicKey: is missing"),
    ("no text", {"keys": [FIRST, second(SECOND, publicKey=5)]}, "$.keys[1].publicKey: must be a string"),
    ("no base64", {"keys": [FIRST, second(SECOND, publicKey=CANARY)]}, "$.keys[1].publicKey: must be the base64"),
    ("no role", {"keys": [FIRST, second(SECOND, roles=[])]}, "$.keys[1].roles: must not be empty"),
    ("no roles", {"keys": [FIRST, second(SECOND, roles=CANARY)]}, "$.keys[1].roles: must be an array"),
    (
        "no person",
        {"keys": [FIRST, second(SECOND, personId=None)]},
        "$.keys[1]: either authority, or personId and roles",
    ),
    ("misspelt", {"keys": [FIRST, second(SECOND, keyid="x")]}, "$.keys[1].keyid: is not known here"),
    ("twice", {"keys": [FIRST, FIRST]}, "$.keys[1].keyId: another key has this id"),
    ("no flag", {"keys": [second(FIRST, authority=CANARY)]}, "$.keys[0].authority: must be true or false"),
]
PEOPLE: list[tuple[str, Any, str]] = [
    ("no list", {}, "$.people: is missing"),
    ("no object", {"people": [ANN, 5]}, "$.people[1]: must be an object"),
    ("no id", {"people": [ANN, second(BOB, personId=None)]}, "$.people[1].personId: is missing"),
    ("no roles", {"people": [ANN, second(BOB, roles=CANARY)]}, "$.people[1].roles: must be an array"),
    ("no account", {"people": [ANN, second(BOB, accounts=[{"issuer": "i"}])]}, "$.people[1].accounts[0].subject: is missing"),
    ("no identity", {"people": [ANN, second(BOB, identities=[""])]}, "$.people[1].identities[0]: must not be empty"),
    ("misspelt", {"people": [ANN, second(BOB, name=CANARY)]}, "$.people[1].name: is not known here"),
    ("an account twice", {"people": [ANN, second(BOB, accounts=ANN["accounts"])]}, "$.people[1].accounts[0]: this account"),
    ("a name twice", {"people": [ANN, second(BOB, identities=["ANN"])]}, "$.people[1].identities[0]: this name"),
    ("no service", {"people": [], "services": [""]}, "$.services[0]: must not be empty"),
]  # fmt: skip


def refused(read: Any, path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    with pytest.raises(InputFileError) as caught:
        read(path)
    assert CANARY not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("document", "words"), [case[1:] for case in KEYS], ids=[case[0] for case in KEYS])
def test_a_malformed_file_of_keys_names_file_entry_and_member(tmp_path: Path, document: Any, words: str) -> None:
    path = tmp_path / "keys.json"
    assert refused(VoteKeys.from_file, path, document).startswith(f"{path}: {words}")


@pytest.mark.parametrize(("document", "words"), [case[1:] for case in PEOPLE], ids=[case[0] for case in PEOPLE])
def test_a_malformed_file_of_people_names_file_entry_and_member(tmp_path: Path, document: Any, words: str) -> None:
    path = tmp_path / "people.json"
    assert refused(PeopleFile, path, document).startswith(f"{path}: {words}")


def test_the_good_ones_are_read(tmp_path: Path) -> None:
    for name, read, document in (
        ("keys.json", VoteKeys.from_file, {"keys": [FIRST, SECOND]}),
        ("people.json", PeopleFile, {"people": [ANN, BOB]}),
    ):
        path = tmp_path / name
        path.write_text(json.dumps(document))
        path.chmod(0o600)
        assert read(path) is not None
