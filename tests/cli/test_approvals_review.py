"""`approvals list` and `show`."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aioc_opa.cli.approvals_options import read_payload_keys
from aioc_opa.cli.approvals_show import MOST_LINES
from aioc_opa.errors import InputFileError
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Ran

PROGRAM = Path(sys.executable).parent / "aioc-opa"


@pytest.fixture
def office(tmp_path: Path, aioc: Command) -> Office:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up()
    return made


# -- list


def test_list_shows_what_waits_and_no_arguments(office: Office) -> None:
    first = office.hold({"secret": "canary"})
    second = office.hold(tenant=None)
    listed = office.run("list")
    assert listed.status == 0
    assert listed.out.index(first) < listed.out.index(second)
    for text in ("pending", "pay", "kim", "acme", "large", "9 min"):
        assert text in listed.out
    assert "canary" not in listed.out
    document = office.run("list", "--json").document
    assert [each["approvalId"] for each in document["approvals"]] == [first, second]
    assert document["more"] is False
    assert "canary" not in json.dumps(document)


def test_list_by_tenant_state_and_limit(office: Office) -> None:
    first, second = office.hold(), office.hold(tenant="other")
    office.as_person("ann", "dismiss", first)
    assert [each["approvalId"] for each in office.run("list", "--json").document["approvals"]] == [second]
    assert office.run("list", "--tenant", "acme").out == "there is none\n"
    ended = office.run("list", "--state", "dismissed", "--state", "expired", "--json").document["approvals"]
    assert [(each["approvalId"], each["endedBy"]) for each in ended] == [(first, "ann")]
    assert "-" in office.run("list", "--state", "dismissed").out
    office.hold()
    limited = office.run("list", "--limit", "1", "--json")
    assert limited.document["more"] is True
    assert "there are more than these 1" in limited.err
    assert office.run("list", "--state", "nonsense").status == 2


def test_names_in_a_list_cannot_act_on_the_terminal(office: Office) -> None:
    office.hold(tool_name="p\u0430y\u202e[red]", proposal_hash="0" * 64)
    out = office.run("list").out
    assert "\u202e" not in out
    assert "\u0430" not in out
    assert "\\u0430" in out


# -- the store


def test_looking_at_a_store_never_makes_one(office: Office) -> None:
    for target in (office.folder / "nope.db", f"sqlite:///{office.folder}/nope.db"):
        found = office.aioc("approvals", "list", "--store", str(target))
        assert found.status == 3
        assert "there is no such file; a guard makes it" in found.err
    assert not (office.folder / "nope.db").exists()
    assert office.aioc("approvals", "list", "--store", "memory:").status == 2
    assert office.aioc("approvals", "list").status == 2


def test_the_password_of_an_address_is_never_printed(office: Office) -> None:
    found = office.aioc("approvals", "list", "--store", "postgresql://me:s3cret@127.0.0.1:9/x?connect_timeout=1")
    assert found.status == 3
    assert "s3cret" not in found.out + found.err


def test_options_come_from_the_environment(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    held = office.hold()
    monkeypatch.setenv("AIOC_OPA_APPROVALS_STORE", office.store)
    monkeypatch.setenv("AIOC_OPA_APPROVALS_KEYS", str(office.folder / "keys.json"))
    monkeypatch.setenv("AIOC_OPA_APPROVALS_TENANT", "acme")
    assert office.aioc("approvals", "show", held).status == 0


# -- show


def test_show_prints_what_a_reviewer_must_see(office: Office) -> None:
    held = office.hold({"amount": 1200, "to": "ACC-7"}, raw='{"to":"ACC-7","amount":"1200"}')
    shown = office.show(held)
    assert shown.status == 0
    digest = office.record(held).bindings.proposal_hash
    for text in ("│ amount: 1200", '│ to: "ACC-7"', '│   asked for: "1200"', "principal       : kim", "1 of manager or owner: not met", f"shown above: {digest}"):  # fmt: skip
        assert text in shown.out
    document = office.show(held, "--json").document
    assert document["argsCanonicalJson"] == '{"amount":1200,"to":"ACC-7"}'
    assert document["computedHash"] == digest


def test_show_logs_who_looked_before_it_shows(office: Office) -> None:
    held = office.hold()
    office.show(held)
    (entry,) = office.run("access-log", held, "--tenant", "acme", "--json").document["accesses"]
    assert (entry["action"], entry["approvalId"]) == ("show", held)
    assert entry["who"].startswith("account:")
    assert held in office.run("access-log").out
    assert office.run("access-log", "--tenant", "other").out == "nobody has looked\n"


def test_an_account_without_a_name_is_logged_by_its_number(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    held = office.hold()
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_001)
    office.show(held)
    assert office.run("access-log", "--json").document["accesses"][0]["who"] == "account:4000000001"


def test_show_and_approve_refuse_a_row_whose_arguments_were_edited(office: Office) -> None:
    held = office.hold()
    with sqlite3.connect(office.store) as connection:
        (payload,) = connection.execute("SELECT payload FROM aioc_approvals").fetchone()
        connection.execute("UPDATE aioc_approvals SET payload = ?", (payload.replace("1200", "12"),))
    connection.close()
    for found in (office.show(held), office.approve("ann", held)):
        assert found.status == 3
        assert found.out == ""
        assert "hash_mismatch" in found.err
        assert "aioc-opa approvals dismiss" in found.err
    assert office.as_person("ann", "dismiss", held).status == 0


def test_show_refuses_an_approval_with_a_vote_that_is_not_genuine(office: Office) -> None:
    held = office.hold(quorum=2)
    assert office.approve("ann", held).status == 0
    keys = json.loads((office.folder / "keys.json").read_text())
    office.write("keys.json", {"keys": [each for each in keys["keys"] if each["personId"] != "ann"]})
    found = office.show(held)
    assert found.status == 3
    assert "key_unknown" in found.err
    assert "--keys" in found.err


def test_characters_that_hide_or_imitate_are_escaped_and_flagged(office: Office) -> None:
    held = office.hold({"to": "p\u0430yp\u0430l", "memo": "\x1b[2J\u202eevil\u200b", "name": "Müller"})
    shown = office.show(held)
    assert shown.status == 0
    assert "\\u0430" in shown.out
    assert 'name: "Müller"' in shown.out
    assert "ATTENTION" in shown.out
    assert "see ATTENTION" in shown.err
    for character in "\x1b\u202e\u200b\u0430":
        assert character not in shown.out
    assert office.show(held, "--json").out.isascii()


def test_nothing_is_cut_without_saying_so(office: Office) -> None:
    held = office.hold({"lines": [f"line {number}" for number in range(MOST_LINES)]})
    cut = office.show(held)
    assert len(cut.out.splitlines()) == MOST_LINES
    assert "more lines; give --whole to see all" in cut.err
    whole = office.show(held, "--whole")
    assert whole.err == ""
    assert f"line {MOST_LINES - 1}" in whole.out
    assert office.show(held, "--json").document["parsedArguments"]["lines"][-1] == f"line {MOST_LINES - 1}"


def test_an_approval_of_another_tenant_does_not_exist(office: Office) -> None:
    held = office.hold(tenant="other")
    said = set()
    for wanted, arguments in ((held, ("--tenant", "acme")), (held, ()), ("apr_" + "0" * 32, ("--tenant", "acme"))):
        found = office.run("show", wanted, "--keys", str(office.folder / "keys.json"), *arguments)
        assert found.status == 3
        said.add(found.err)
    # One sentence for all of them: it says where to look, and not whether there is one elsewhere.
    (only,) = said
    assert "no such approval here" in only
    assert "give --tenant if the call has one" in only


def test_a_terminal_that_cannot_show_the_page_is_told_so(office: Office) -> None:
    held = office.hold()
    command = [PROGRAM, "approvals", "show", held, "--store", office.store, "--tenant", "acme", "--keys", str(office.folder / "keys.json")]  # fmt: skip
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin", "HOME": str(office.folder)}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (found.returncode, found.stdout) == (3, "")
    assert "not UTF-8" in found.stderr
    assert subprocess.run([*command, "--json"], capture_output=True, check=False, env=environment).returncode == 0


# -- encrypted arguments, retention


def test_encrypted_arguments_need_their_key(office: Office) -> None:
    key = office.folder / "payload.key"
    assert office.aioc("approvals", "keygen", str(key), "--payload").status == 0
    assert key.stat().st_mode & 0o777 == 0o600
    held = office.hold(cipher=read_payload_keys(key))
    assert office.show(held).status == 3
    assert "amount: 1200" in office.show(held, "--payload-key", str(key)).out
    key.chmod(0o644)
    with pytest.raises(InputFileError, match="private key"):
        read_payload_keys(key)
    key.chmod(0o600)
    for content in ({"active": "a", "keys": {"a": "short"}}, {"active": "b", "keys": {"a": "A" * 43 + "="}}, {}):
        key.write_text(json.dumps(content))
        refused = office.show(held, "--payload-key", str(key))
        assert refused.status == 3
        assert str(key) in refused.err


def test_purge_removes_arguments_and_keeps_the_record(office: Office) -> None:
    first, second = office.hold(), office.hold()
    office.as_person("ann", "dismiss", first)

    def purge(*arguments: str) -> Ran:
        return office.run("purge", *office.own_files("bob"), *arguments)

    assert purge("--ended-before-days", "1").out == "removed the arguments of 0 approvals\n"
    assert purge("--ended-before-days", "0", "--tenant", "acme").status == 0
    gone = office.show(first)
    assert gone.status == 3
    assert "arguments_gone" in gone.err
    left = office.show(first, "--json").document
    assert (left["argumentsRemoved"], left["endedBy"], left["bindings"]["identity"]) == (True, "ann", "kim")
    assert "1200" not in json.dumps(left)
    assert purge(second, "--tenant", "acme").out == "removed the arguments\n"
    assert office.record(second).state == "dismissed"
    assert purge(second).status == 3
    assert purge().status == 2
    assert purge(second, "--ended-before-days", "1").status == 2
    assert {each["approvalId"] for each in office.run("list", "--state", "dismissed", "--json").document["approvals"]} == {first, second}  # fmt: skip
    logged = office.run("access-log", "--json").document["accesses"]
    removals = [(each["approvalId"], each["who"], each["action"]) for each in logged if each["action"] != "show"]
    assert removals == [(first, "bob", "purge"), (second, "bob", "erase")]


def test_nobody_removes_arguments_without_a_name_or_in_another_tenant(office: Office) -> None:
    held = office.hold()
    assert office.run("purge", held, "--tenant", "acme").status == 2
    people = json.loads((office.folder / "people.json").read_text())
    people["people"][0]["tenants"] = ["other"]
    office.write("people.json", people)
    for arguments in ([held, "--tenant", "acme"], ["--ended-before-days", "0"]):
        found = office.run("purge", *office.own_files("ann"), *arguments)
        assert found.status == 1
        assert "tenant_not_allowed" in found.err
    assert office.record(held).payload is not None
