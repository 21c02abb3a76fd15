"""What only stores in SQL can do wrong: tables, schemas, encryption, other writers."""

# ruff: noqa: S608 - the names in these statements are ours

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.errors import ApprovalStoreError
from tests.approvals.store_cases import (
    CAPS,
    SqlCase,
    approved,
    consumed,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.store import ApprovalStore


INSERT_ONLY = [
    "aioc_approval_votes", "aioc_approval_endings", "aioc_approval_consumptions", "aioc_call_claims", "aioc_effect_intents", "aioc_effect_ends",
    "aioc_approval_access",
]  # fmt: skip


def filled(store: ApprovalStore) -> None:
    """A row in every table."""
    new, intent = consumed(store)
    store.claim(intent)
    store.finish(intent, "returned")
    store.log_access("acme", new.approval_id, "p-lee", "show")
    store.end("acme", approved(store, run_id="run-2").approval_id, ApprovalEvent.REVOKE, "p-lee", "why")


@pytest.mark.parametrize("table", INSERT_ONLY)
def test_what_must_not_be_undone_takes_inserts_only(sql_case: SqlCase, table: str) -> None:
    filled(sql_case.store)
    count = f"SELECT count(*) FROM {table}"
    before = sql_case.sql(count)
    assert before >= [1]
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET at_ms = 0", f"UPDATE {table} SET at_ms = at_ms"):
        with pytest.raises(ApprovalStoreError, match="IntegrityError"):
            sql_case.sql(statement)
    if sql_case.store.name == "sqlite":
        with pytest.raises(ApprovalStoreError, match="IntegrityError"):
            sql_case.sql(f"REPLACE INTO {table} SELECT * FROM {table}")
    else:
        with pytest.raises(ApprovalStoreError):
            sql_case.sql(f"TRUNCATE {table} CASCADE")
    assert sql_case.sql(count) == before


@pytest.mark.parametrize("name", ["rowid", "_rowid_", "oid"])
@pytest.mark.parametrize("table", INSERT_ONLY)
def test_no_row_is_replaced_by_its_hidden_rowid(sqlite_case: SqlCase, table: str, name: str) -> None:
    case = sqlite_case
    filled(case.store)
    count = f"SELECT count(*) FROM {table}"
    before = case.sql(count)
    # seq is the rowid where there is one, and is compared; the other tables have none.
    with pytest.raises(ApprovalStoreError):
        case.sql(f"INSERT OR REPLACE INTO {table} ({name}) SELECT {name} FROM {table}")
    assert case.sql(count) == before


def test_a_claim_is_not_replaced_by_another_call_of_its_execution(sqlite_case: SqlCase) -> None:
    # PostgreSQL has no REPLACE; its upsert is an UPDATE, which is refused above.
    filled(sqlite_case.store)
    with pytest.raises(ApprovalStoreError, match="IntegrityError"):
        sqlite_case.sql(
            "INSERT OR REPLACE INTO aioc_call_claims SELECT tenant, 'other', 'other', execution_id, 1 FROM aioc_call_claims"
        )


def test_an_approval_with_votes_cannot_be_deleted(sql_case: SqlCase) -> None:
    approved(sql_case.store)
    with pytest.raises(ApprovalStoreError, match="IntegrityError"):
        sql_case.sql("DELETE FROM aioc_approvals")


def test_a_schema_that_is_newer_than_the_code_is_refused(sql_target: str) -> None:
    with closing(open_store(sql_target)) as store:
        case = SqlCase(store, sql_target)  # type: ignore[arg-type] # it is one in SQL
        case.sql("UPDATE aioc_schema_versions SET version = version + 1")
    with pytest.raises(ApprovalStoreError, match="version 2 and this release knows 1"):
        open_store(sql_target)


def test_another_process_reads_what_one_has_written(sql_case: SqlCase) -> None:
    new = approved(sql_case.store)
    with closing(sql_case.again()) as other:
        assert other.get("acme", new.approval_id) == sql_case.store.get("acme", new.approval_id)
        assert other.end("acme", new.approval_id, ApprovalEvent.REVOKE, "p-lee", "why").moved
    intent = intent_for(new)
    sql_case.store.intend(intent)
    moved = sql_case.store.consume(intent)
    assert (moved.moved, moved.record and moved.record.state) == (False, ApprovalState.REVOKED)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("bindings", "{}"), ("bindings", "x"), ("terms", '{"requirements":[]}'), ("requesters", "[1]"),
        ("reasons", "null"), ("state", "allowed"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_an_error_and_never_a_guess(sql_case: SqlCase, column: str, value: str) -> None:
    new = new_approval()
    sql_case.store.open(new, CAPS)
    sql_case.sql(f"UPDATE aioc_approvals SET {column} = :value", value=value)
    with pytest.raises(ApprovalStoreError, match="edited"):
        sql_case.store.get("acme", new.approval_id)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("payload", b"canary"), ("reason", b"canary"), ("bindings", b"canary"), ("terms", b"{}"), ("requesters", b"[]"),
        ("reasons", b"[]"), ("state", b"pending"), ("created_at_ms", "canary"), ("created_at_ms", b"1"),
        ("expires_at_ms", 1e300), ("expires_at_ms", 9e18 + 0.5),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_an_error_that_names_its_column(
    sqlite_case: SqlCase, column: str, value: object
) -> None:
    """SQLite keeps any value in any column; PostgreSQL does not."""
    new = new_approval()
    sqlite_case.store.open(new, CAPS)
    sqlite_case.sql(f"UPDATE aioc_approvals SET {column} = :value", value=value)
    with pytest.raises(ApprovalStoreError, match=f"stored column {column} ") as caught:
        sqlite_case.store.get("acme", new.approval_id)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("column", ["created_at_ms", "expires_at_ms"])
@pytest.mark.parametrize("value", [-1, 253_402_300_800_000, 2**62])
def test_a_time_that_is_none_is_an_error_for_every_reader(sql_case: SqlCase, column: str, value: int) -> None:
    new = new_approval()
    sql_case.store.open(new, CAPS)
    sql_case.sql(f"UPDATE aioc_approvals SET {column} = :value", value=value)
    store = sql_case.store
    for step in (
        lambda: store.get("acme", new.approval_id),
        lambda: store.find("acme", set(ApprovalState), 9),
        lambda: store.vote("acme", new.approval_id, signed_vote(), lambda _: ApprovalEvent.APPROVE),
        lambda: store.end("acme", new.approval_id, ApprovalEvent.DISMISS, "p-lee", "why"),
    ):
        with pytest.raises(ApprovalStoreError, match=f"stored column {column} "):
            step()


def test_forged_rows_beside_an_approval_are_errors_that_name_their_column(sqlite_case: SqlCase) -> None:
    store, new = sqlite_case.store, new_approval()
    store.open(new, CAPS)
    vote = "INSERT INTO aioc_approval_votes (approval_id, statement, key_id, signature, at_ms) VALUES (:id, x'ff', 'k', 's', 0)"
    intent = "INSERT INTO aioc_effect_intents VALUES ('e', 'acme', 'r', 'c', x'ff', 'h', NULL, 0)"
    entry = "INSERT INTO aioc_approval_access (tenant, approval_id, who, action, at_ms) VALUES ('acme', 'a', 'w', 'x', 'soon')"
    sqlite_case.sql(vote, id=new.approval_id)
    sqlite_case.sql(intent)
    sqlite_case.sql(entry)
    with pytest.raises(ApprovalStoreError, match="stored column statement "):
        store.get("acme", new.approval_id)
    with pytest.raises(ApprovalStoreError, match="stored column tool_name "):
        store.unfinished(None, 1)
    with pytest.raises(ApprovalStoreError, match="stored column at_ms "):
        store.access_log(None, None)


def test_an_end_and_an_outcome_that_were_forged_are_errors_that_name_their_column(sqlite_case: SqlCase) -> None:
    store, (used, intent), new = sqlite_case.store, consumed(sqlite_case.store), new_approval(run_id="run-2")
    store.open(new, CAPS)
    ending = "INSERT INTO aioc_approval_endings VALUES (:id, 'acme', 'r', 'h', 'revoked', 'p', NULL, 'soon')"
    sqlite_case.sql(ending, id=new.approval_id)
    sqlite_case.sql("INSERT INTO aioc_effect_ends VALUES (:id, 1, 'canary', 0)", id=intent.execution_id)
    with pytest.raises(ApprovalStoreError, match="stored column ended_at_ms "):
        store.get("acme", new.approval_id)
    with pytest.raises(ApprovalStoreError, match="stored column outcome ") as caught:
        store.get("acme", used.approval_id)
    assert "canary" not in str(caught.value)


def test_text_that_is_no_utf_8_is_an_error(sqlite_case: SqlCase) -> None:
    new = new_approval()
    sqlite_case.store.open(new, CAPS)
    sqlite_case.sql("UPDATE aioc_approvals SET reason = CAST(x'ff' AS TEXT)")
    with pytest.raises(ApprovalStoreError, match="OperationalError"):
        sqlite_case.store.get("acme", new.approval_id)


def test_a_long_list_has_the_votes_of_each(sql_case: SqlCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioc_opa.approvals.sql_base._IDS_AT_ONCE", 2)
    for number in range(5):
        new = new_approval(call_id=str(number))
        sql_case.store.open(new, CAPS)
        for _ in range(number):
            sql_case.store.vote("acme", new.approval_id, signed_vote(), lambda _: None)
    assert [len(record.votes) for record in sql_case.store.find("acme", {ApprovalState.PENDING}, 9)] == [0, 1, 2, 3, 4]


def test_an_open_row_whose_bindings_were_edited_is_not_shared(sql_case: SqlCase) -> None:
    sql_case.store.open(new_approval(), CAPS)
    sql_case.sql("UPDATE aioc_approvals SET bindings = replace(bindings, 'ada', 'eve')")
    with pytest.raises(ApprovalStoreError, match="edited"):
        sql_case.store.open(new_approval(), CAPS)


# --- encryption
