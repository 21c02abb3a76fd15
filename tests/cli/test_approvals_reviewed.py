"""A vote is on what was reviewed: what somebody edits between `show` and `approve` is signed by nobody unseen."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.approvals.sql_rows import bindings_digest
from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.vote_text import statement_of
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.approvals.records import ApprovalRecord
    from tests.cli.conftest import Command

BINDINGS: dict[str, Any] = {
    "proposal_hash": "0" * 64,
    "run_id": "run-of-mallory",
    "call_id": "another-call",
    "agent_name": "another-agent",
    "tool_name": "another-tool",
    "tool_version": "2",
    "tool_digest": "0" * 64,
    "identity": "support-bot",
    "tenant": "other",
    "on_behalf_of": ("mallory",),
    "run_started_by": "mallory",
    "policy_revision": '{"local":"sha256:2"}',
    "terms_digest": "0" * 64,
}


def _bound(record: ApprovalRecord, **changed: Any) -> dict[str, Any]:
    bound = record.bindings.model_copy(update=changed)
    return {
        "bindings": bound.model_dump_json(by_alias=True),
        "bindings_digest": bindings_digest(bound),
        "run_id": bound.run_id,
        "identity": bound.identity,
        "proposal_hash": bound.proposal_hash,
    }


def _other_terms(record: ApprovalRecord) -> dict[str, Any]:
    terms = record.terms.model_copy(update={"separation_of_duties": False})
    return {
        "terms": terms.model_dump_json(by_alias=True),
        **_bound(record, terms_digest=terms_digest(terms)),
    }


COLUMNS: dict[str, Callable[[ApprovalRecord], dict[str, Any]]] = {
    "approval_id": lambda _: {"approval_id": "apr_" + "0" * 32},
    "tenant": lambda _: {"tenant": "other"},
    "state": lambda _: {"state": "dismissed"},
    "requesters": lambda _: {"requesters": '["nobody"]'},
    "reason": lambda _: {"reason": "small"},
    "reasons": lambda _: {"reasons": '["small"]'},
    "payload": lambda record: {"payload": (record.payload or "").replace('"Pay."', '"Ask."')},
    "created_at_ms": lambda record: {"created_at_ms": record.created_at_ms - 1000},
    "expires_at_ms": lambda record: {"expires_at_ms": record.expires_at_ms + 1000},
    "both times": lambda record: {
        "created_at_ms": record.created_at_ms - 1000,
        "expires_at_ms": record.expires_at_ms - 1000,
    },
    "terms": lambda record: {
        "terms": record.terms.model_copy(update={"separation_of_duties": False}).model_dump_json(by_alias=True)
    },
    "terms and their digest": _other_terms,
    **{f"bindings: {name}": partial(_bound, **{name: value}) for name, value in BINDINGS.items()},
}
"""What somebody writes, by the column or the binding that it is about, with everything that goes with it."""


@pytest.fixture
def office(tmp_path: Path, aioc: Command) -> Office:
    made = Office(tmp_path, str(tmp_path / "approvals.db"), aioc)
    made.set_up()
    return made


def edit(office: Office, held: str, columns: dict[str, Any]) -> None:
    with closing(sqlite3.connect(office.store)) as database:
        settings = ", ".join(f"{column} = ?" for column in columns)
        changed = database.execute(
            f"UPDATE aioc_approvals SET {settings} WHERE approval_id = ?",  # noqa: S608 - our own names
            (*columns.values(), held),
        )
        assert changed.rowcount == 1
        database.commit()


def votes(office: Office) -> list[str]:
    with closing(sqlite3.connect(office.store)) as database:
        return [row[0] for row in database.execute("SELECT statement FROM aioc_approval_votes")]


@pytest.mark.parametrize("edited", COLUMNS)
def test_what_is_edited_after_the_review_is_voted_on_by_nobody(office: Office, edited: str) -> None:
    held = office.hold()
    reviewed = office.show(held, "--json").document
    edit(office, held, COLUMNS[edited](office.record(held)))
    for command in ("approve", "reject"):
        found = office.as_person("ann", command, held, "--yes-hash", reviewed["reviewHash"])
        assert found.status in {1, 3}, found.out
    assert votes(office) == []


@pytest.mark.parametrize("column", ["run_id", "identity", "proposal_hash", "bindings_digest"])
def test_a_column_that_is_only_looked_up_by_changes_nothing_of_what_is_signed(office: Office, column: str) -> None:
    held = office.hold()
    reviewed = office.show(held, "--json").document
    edit(office, held, {column: "edited"})
    assert office.as_person("ann", "approve", held, "--yes-hash", reviewed["reviewHash"]).status == 0
    (signed,) = map(statement_of, votes(office))
    assert signed.bindings.model_dump(mode="json", by_alias=True) == reviewed["bindings"]
    assert signed.expires_at == reviewed["expiresAt"]


def test_every_column_and_every_binding_is_one_of_these(office: Office) -> None:
    record = office.record(office.hold())
    with closing(sqlite3.connect(office.store)) as database:
        columns = {row[1] for row in database.execute("PRAGMA table_info(aioc_approvals)")}
    looked_up_by = {"run_id", "identity", "proposal_hash", "bindings_digest"}
    assert columns == {"seq", "bindings", *looked_up_by} | {name for name in COLUMNS if " " not in name}
    assert set(BINDINGS) == set(type(record.bindings).model_fields)


def test_what_is_edited_while_the_voter_reads_is_not_signed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, what is signed is the record that was shown: the store's of now has to be the same."""
    held = office.hold()
    before, shown = office.record(held), office.review_hash(held)

    def typed(*_: Any, **__: Any) -> str:
        edit(office, held, _bound(before, identity="support-bot"))
        return shown[:8]

    monkeypatch.setattr("aioc_opa.cli.approvals_vote.typer.prompt", typed)
    monkeypatch.setattr("aioc_opa.cli.approvals_vote.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    found = office.as_person("ann", "approve", held)
    assert found.status == 1
    assert "vote_not_genuine" in found.err
    assert votes(office) == []


def test_the_hash_of_a_review_is_the_same_on_the_page_in_the_document_and_after_a_vote(office: Office) -> None:
    held = office.hold(quorum=2)
    document = office.show(held, "--json").document
    assert f"what a vote is on: {document['reviewHash']}\n" in office.show(held).out
    assert office.as_person("ann", "approve", held, "--yes-hash", document["reviewHash"]).status == 0
    assert office.show(held, "--json").document["reviewHash"] == document["reviewHash"]
    assert office.as_person("bob", "approve", held, "--yes-hash", document["reviewHash"]).status == 0
    with closing(open_store(office.store)) as store:
        (record,) = store.find("acme", ["approved"], 9)  # type: ignore[list-item] # a StrEnum's text
    assert len(record.votes) == 2
    assert json.loads(record.votes[0].statement)["approvalId"] == held


def test_a_row_that_cannot_be_read_is_named_and_hides_no_other(office: Office) -> None:
    fine, broken = office.hold(), office.hold()
    edit(office, broken, {"terms": "\x1b[31m"})
    listed = office.run("list")
    assert (listed.status, fine in listed.out, broken in listed.out) == (1, True, False)
    assert f"{broken} cannot be read: somebody has edited its row" in listed.err
    document = office.run("list", "--json").document
    assert [each["approvalId"] for each in document["approvals"]] == [fine]
    assert document["unreadable"] == [broken]
    edit(office, fine, {"terms": "[]"})
    alone = office.run("list")
    assert (alone.status, alone.out) == (1, "")
