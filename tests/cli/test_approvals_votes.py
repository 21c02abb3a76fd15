"""`approvals approve`, `reject`, `revoke`, `dismiss` and `keygen`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.keys import AccountHolder, SigningKey
from aioc_opa.cli.approvals_show import MOST_LINES
from tests.cli.approvals_office import ISSUER, Office

if TYPE_CHECKING:
    from tests.cli.conftest import Command

PROGRAM = Path(sys.executable).parent / "aioc-opa"


@pytest.fixture
def office(tmp_path: Path, aioc: Command) -> Office:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up()
    return made


def test_a_vote_is_signed_by_the_person_of_the_key_and_counts(office: Office) -> None:
    held = office.hold(quorum=2)
    first = office.approve("ann", held)
    assert first.status == 0
    assert "│ amount: 1200" in first.out
    assert first.out.endswith("approved by ann; the approval is pending now\n")
    assert "it takes more votes" in first.err
    second = office.approve("bob", held)
    assert second.out.endswith("approved by bob; the approval is approved now\n")
    votes = office.show(held, "--json").document["votes"]
    assert [(each["personId"], each["roles"], each["reason"]) for each in votes] == [
        ("ann", ["manager"], "ann has looked"),
        ("bob", ["manager", "owner"], "bob has looked"),
    ]
    looked = office.run("access-log", held, "--json").document["accesses"]
    assert [each["who"] for each in looked][:2] == ["ann", "bob"]


def test_one_rejection_decides(office: Office) -> None:
    held = office.hold()
    found = office.as_person("bob", "reject", held, "--yes-hash", office.review_hash(held))
    assert (found.status, office.record(held).state) == (0, "rejected")
    late = office.approve("ann", held)
    assert late.status == 1
    assert "nothing was changed" in late.err
    assert "not_pending" in late.err


@pytest.mark.parametrize(("name", "code"), [("kim", "requester_may_not_vote"), ("eve", "role_missing")])
def test_who_may_not_vote_is_told_and_nothing_changes(office: Office, name: str, code: str) -> None:
    held = office.hold()
    found = office.approve(name, held)
    assert found.status == 1
    assert code in found.err
    assert office.record(held).votes == ()


def test_a_second_vote_of_one_person_changes_nothing_and_is_told_so(office: Office) -> None:
    held = office.hold(quorum=2)
    assert office.approve("ann", held).status == 0
    found = office.approve("ann", held)
    assert found.status == 1
    assert "already_voted" in found.err


def test_a_script_binds_its_vote_to_the_hash_that_was_reviewed(office: Office) -> None:
    held, other = office.hold(), office.hold({"amount": 5})
    for digest in (office.review_hash(other), office.review_hash(held)[:8], ""):
        for command in ("approve", "reject"):
            found = office.as_person("ann", command, held, "--yes-hash", digest)
            assert found.status == 1
            assert "another_hash" in found.err
            assert "review it again" in found.err
    of_action = office.record(held).bindings.proposal_hash
    bare = office.as_person("ann", "approve", held, "--yes-hash", of_action)
    assert bare.status == 1
    assert "give reviewHash" in " ".join(bare.err.split())
    nobody = office.as_person("ann", "approve", held)
    assert nobody.status == 2
    assert "--yes-hash" in nobody.err
    assert office.record(held).state == "pending"


def test_what_was_not_shown_whole_cannot_be_approved(office: Office) -> None:
    held = office.hold({"lines": [f"line {number}" for number in range(MOST_LINES)]})
    cut = office.approve("ann", held)
    assert cut.status == 1
    assert "not_shown_whole" in cut.err
    assert "--whole" in cut.err
    assert office.record(held).state == "pending"
    assert office.approve("ann", held, "--whole").status == 0


def on_a_terminal(office: Office, held: str, typed: str) -> tuple[int, str]:
    """The exit status of `approve` in a real process with a terminal, and what it wrote there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "approvals", "approve", held, "--store", office.store, *office.person_options("ann")],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={"PATH": "/usr/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 65_536)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        said += piece
        if b"hash begins" in said and typed:
            os.write(leader, f"{typed}\n".encode())
            typed = ""
    os.close(leader)
    return process.wait(60), said.decode()


def test_on_a_terminal_the_voter_types_the_beginning_of_the_hash(office: Office) -> None:
    held = office.hold()
    start = office.review_hash(held)[:8]
    assert start in office.show(held).out
    refused, said = on_a_terminal(office, held, "yes")
    assert refused == 1
    assert "not confirmed" in said
    assert office.record(held).state == "pending"
    status, said = on_a_terminal(office, held, start)
    assert status == 0, said
    assert f"type {start}" in said
    assert office.record(held).state == "approved"


# -- who is at the keyboard


def test_the_voter_is_never_an_option(office: Office) -> None:
    held = office.hold()
    assert office.approve("ann", held, "--person", "bob").status == 2


def test_a_key_that_is_not_registered_is_nobody(office: Office) -> None:
    held = office.hold()
    holder = AccountHolder("ann", ISSUER, "sub-ann")
    registered = SigningKey.load(office.key("ann"))
    office.key("ann").unlink()
    SigningKey.generate(holder=holder, key_id=registered.key_id).save(office.key("ann"))
    found = office.approve("ann", held)
    assert found.status == 3
    assert "have its public entry added" in found.err


def test_a_key_for_an_account_that_the_directory_gives_to_somebody_else_is_nobody(office: Office) -> None:
    held = office.hold()
    people = json.loads((office.folder / "people.json").read_text())
    people["people"][0]["accounts"], people["people"][1]["accounts"] = (
        people["people"][1]["accounts"],
        people["people"][0]["accounts"],
    )
    office.write("people.json", people)
    found = office.approve("ann", held)
    assert found.status == 3
    assert "no such account" in found.err


def test_the_authority_names_no_person(office: Office) -> None:
    held = office.hold()
    assert office.aioc("approvals", "keygen", str(office.key("authority")), "--authority").document["authority"] is True
    found = office.approve("authority", held)
    assert found.status == 3
    assert "names no person" in found.err


def test_a_key_file_that_others_can_read_is_refused(office: Office) -> None:
    held = office.hold()
    office.key("ann").chmod(0o644)
    found = office.approve("ann", held)
    assert found.status == 3
    assert "chmod 600" in found.err


# -- revoke and dismiss


def test_an_approval_is_taken_back_before_it_is_used(office: Office) -> None:
    held = office.hold()
    early = office.as_person("ann", "revoke", held)
    assert early.status == 1
    assert office.approve("ann", held).status == 0
    found = office.as_person("bob", "revoke", held)
    assert (found.status, found.out) == (0, "the approval is revoked now\n")
    record = office.record(held)
    assert (record.ended_by, record.end_reason) == ("bob", "bob has looked")


def test_who_asked_may_dismiss_and_others_may_not(office: Office) -> None:
    held = office.hold()
    stranger = office.as_person("eve", "dismiss", held)
    assert stranger.status == 1
    assert "role_missing" in stranger.err
    assert office.as_person("kim", "dismiss", held).out == "the approval is dismissed now\n"
    assert office.as_person("kim", "dismiss", "apr_" + "0" * 32).status == 3


@pytest.mark.parametrize("command", ["approve", "reject", "revoke", "dismiss"])
def test_everything_needs_a_reason(office: Office, command: str) -> None:
    held = office.hold()
    options = office.person_options("ann")
    options[options.index("--reason") + 1] = "  "
    yes = ["--yes-hash", "0"] if command in {"approve", "reject"} else []
    assert office.run(command, held, *options, *yes).status == 2
    assert office.run(command, held, *options[:-2], *yes).status == 2


# -- keygen


def test_keygen_writes_a_private_file_and_prints_the_public_entry(office: Office) -> None:
    path = office.key("dan")
    options = ["--person", "dan", "--issuer", ISSUER, "--subject", "4711", "--role", "owner", "--role", "manager"]
    made = office.aioc("approvals", "keygen", str(path), *options)
    assert made.status == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert made.document["personId"] == "dan"
    assert made.document["roles"] == ["manager", "owner"]
    private = json.loads(path.read_text())["privateKey"]
    assert private not in made.out + made.err
    assert office.aioc("approvals", "keygen", str(path), *options).status == 3


def test_keygen_never_writes_over_a_payload_key(office: Office) -> None:
    path = str(office.key("payload"))
    assert office.aioc("approvals", "keygen", path, "--payload").status == 0
    assert office.aioc("approvals", "keygen", path, "--payload").status == 3
    assert office.aioc("approvals", "keygen", f"{path}/x", "--payload").status == 3


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--authority", "--payload"],
        ["--person", "dan"],
        ["--authority", "--role", "owner"],
        ["--payload", "--issuer", "x"],
    ],
    ids=str,
)
def test_keygen_of_nothing_in_particular_is_wrong_usage(office: Office, options: list[str]) -> None:
    assert office.aioc("approvals", "keygen", str(office.key("new")), *options).status == 2
    assert not office.key("new").exists()


# -- PostgreSQL


def test_the_same_on_postgresql(tmp_path: Path, aioc: Command, postgres_schema_url: str) -> None:
    office = Office(tmp_path, postgres_schema_url, aioc)
    office.set_up()
    held = office.hold()
    assert held in office.run("list").out
    assert "│ amount: 1200" in office.show(held).out
    assert office.approve("ann", held).status == 0
    assert office.as_person("bob", "revoke", held).status == 0
    assert office.run("access-log", held, "--json").document["accesses"][0]["action"] == "show"
    assert office.run("recover").out == "nothing is unfinished\n"
    assert (
        office.run("purge", *office.own_files("ann"), "--ended-before-days", "0").out
        == "removed the arguments of 1 approvals\n"
    )
