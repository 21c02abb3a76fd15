"""What only stores in SQL can do wrong: tables, schemas, encryption, other writers."""

# ruff: noqa: S608 - the names in these statements are ours

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.approvals.payload_cipher import PayloadCipher
from aioc_opa.approvals.postgres_store import open_postgres_store
from aioc_opa.approvals.sqlite_store import open_sqlite_store
from aioc_opa.approvals.stores import open_store
from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
from aioc_opa.errors import ApprovalStoreError, ConfigurationError
from aioc_opa.storage import postgres_engine
from tests.approvals.store_cases import (
    CAPS,
    PAYLOAD,
    SqlCase,
    approved,
    consumed,
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from pathlib import Path

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


def test_encrypted_arguments_are_nowhere_in_the_database_and_come_back(sql_target: str) -> None:
    cipher = PayloadCipher({"k1": secrets.token_bytes(32)}, "k1")
    with closing(open_store(sql_target, cipher=cipher)) as store:
        new = new_approval()
        store.open(new, CAPS)
        case = SqlCase(store, sql_target)  # type: ignore[arg-type] # it is one in SQL
        (stored,) = case.sql("SELECT payload FROM aioc_approvals")
        assert "amount" not in stored
        assert stored.startswith("aes256gcm:k1:")
        record = store.get("acme", new.approval_id)
        assert record is not None
        assert record.payload == PAYLOAD


def test_keys_can_be_rotated_and_a_wrong_or_a_missing_one_is_refused(sql_target: str) -> None:
    old, new_key = secrets.token_bytes(32), secrets.token_bytes(32)
    first, second = new_approval(call_id="1"), new_approval(call_id="2")
    with closing(open_store(sql_target, cipher=PayloadCipher({"k1": old}, "k1"))) as store:
        store.open(first, CAPS)
    with closing(open_store(sql_target, cipher=PayloadCipher({"k1": old, "k2": new_key}, "k2"))) as store:
        store.open(second, CAPS)
        for new in (first, second):
            record = store.get("acme", new.approval_id)
            assert record is not None
            assert record.payload == PAYLOAD
    with closing(open_store(sql_target, cipher=PayloadCipher({"k2": new_key}, "k2"))) as store:
        assert store.get("acme", second.approval_id) is not None
        with pytest.raises(ApprovalStoreError, match="a key that is not here"):
            store.get("acme", first.approval_id)
        # Who cannot read it can still list and end it.
        assert len(store.find("acme", {ApprovalState.PENDING}, 9)) == 2
        assert store.end("acme", first.approval_id, ApprovalEvent.DISMISS, "p-lee", "why").moved
    with closing(open_store(sql_target, cipher=PayloadCipher({"k2": old}, "k2"))) as store:
        with pytest.raises(ApprovalStoreError, match="do not open"):
            store.get("acme", second.approval_id)
        with pytest.raises(ApprovalStoreError, match="do not open"):
            store.vote("acme", second.approval_id, signed_vote(), lambda _: ApprovalEvent.APPROVE)
    with closing(open_store(sql_target)) as store, pytest.raises(ApprovalStoreError, match="has no keys"):
        store.get("acme", second.approval_id)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE aioc_approvals SET payload = (SELECT payload FROM aioc_approvals WHERE seq = 2)",
        "UPDATE aioc_approvals SET bindings = replace(bindings, 'ada', 'eve')",
        "UPDATE aioc_approvals SET payload = replace(payload, 'aes256gcm:k1:', 'aes256gcm:k1:AAAA')",
        "UPDATE aioc_approvals SET payload = 'aes256gcm:k1:%'",
        "UPDATE aioc_approvals SET payload = 'aes256gcm:k1:'",
        "UPDATE aioc_approvals SET payload = '{}'",
    ],
)
def test_sealed_arguments_open_for_their_own_approval_and_bindings_only(sql_target: str, edit: str) -> None:
    with closing(open_store(sql_target, cipher=PayloadCipher({"k1": secrets.token_bytes(32)}, "k1"))) as store:
        first, second = new_approval(call_id="1"), new_approval(call_id="2")
        store.open(first, CAPS)
        store.open(second, CAPS)
        SqlCase(store, sql_target).sql(edit)  # type: ignore[arg-type] # it is one in SQL
        with pytest.raises(ApprovalStoreError):
            store.get("acme", first.approval_id)


@pytest.mark.parametrize(
    ("keys", "active"), [({"k": b"short"}, "k"), ({}, "k"), ({"a:b": bytes(32)}, "a:b"), ({"": bytes(32)}, "")]
)
def test_a_cipher_refuses_unfit_keys(keys: dict[str, bytes], active: str) -> None:
    with pytest.raises(ConfigurationError):
        PayloadCipher(keys, active)


# --- SQLite


def test_erased_arguments_are_not_left_in_sqlites_files(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    with closing(open_sqlite_store(path)) as store:
        new = new_approval()
        store.open(new, CAPS)
        assert any(b"amount" in file.read_bytes() for file in tmp_path.iterdir())
        assert store.erase("acme", new.approval_id)
        assert not any(b"amount" in file.read_bytes() for file in tmp_path.iterdir())


def test_the_file_and_its_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "approvals.db"
    with closing(open_sqlite_store(str(path))) as store:
        approved(store)
        assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
            "approvals.db": 0o600, "approvals.db-wal": 0o600, "approvals.db-shm": 0o600,
        }  # fmt: skip


def test_a_locked_database_is_an_error_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioc_opa.storage.sqlite_engine.BUSY_SECONDS", 0.1)
    path = tmp_path / "approvals.db"
    with closing(open_sqlite_store(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        new = approved(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ApprovalStoreError, match="SQLITE_BUSY"):
            store.log_access("acme", new.approval_id, "p-lee", "show")
        assert store.get("acme", new.approval_id) is not None  # reading needs no turn
        other.execute("ROLLBACK")
        store.log_access("acme", new.approval_id, "p-lee", "show")


# --- PostgreSQL


def test_a_row_that_another_session_holds_is_an_error_after_a_while(
    postgres_schema_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = postgres_engine._SESSION.replace("'lock_timeout', '5s'", "'lock_timeout', '100ms'")
    monkeypatch.setattr(postgres_engine, "_SESSION", short)
    with closing(open_postgres_store(postgres_schema_url)) as store, psycopg.connect(postgres_schema_url) as other:
        new = approved(store)
        intent = intent_for(new)
        store.intend(intent)
        other.execute("SELECT 1 FROM aioc_approvals FOR UPDATE")
        with pytest.raises(ApprovalStoreError, match="55P03"):
            store.consume(intent)
        other.rollback()
        assert store.consume(intent).moved


def test_a_connection_lost_at_commit_is_an_error_and_the_step_is_not_repeated(postgres_schema_url: str) -> None:
    with closing(open_postgres_store(postgres_schema_url)) as store:
        new = approved(store)
        intent = intent_for(new)
        store.intend(intent)
        case = SqlCase(store, postgres_schema_url)  # type: ignore[arg-type] # it is one in SQL
        case.sql("CREATE SEQUENCE attempts")
        case.sql(
            "CREATE FUNCTION dies() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM nextval('attempts'); PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$"
        )
        case.sql(
            "CREATE CONSTRAINT TRIGGER dies_at_commit AFTER INSERT ON aioc_approval_consumptions "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dies()"
        )
        with pytest.raises(ApprovalStoreError, match="57P01"):
            store.consume(intent)
        assert case.sql("SELECT last_value FROM attempts") == [1]
        record = store.get("acme", new.approval_id)
        assert record is not None
        assert record.state is ApprovalState.APPROVED


# --- opening


def test_one_word_names_a_store(tmp_path: Path, postgres_schema_url: str) -> None:
    for target, name in (
        ("memory:", "memory"),
        (str(tmp_path / "a.db"), "sqlite"),
        (f"sqlite:///{tmp_path}/b.db", "sqlite"),
        (postgres_schema_url, "postgresql"),
    ):
        with closing(open_store(target)) as store:
            assert store.name == name
    with pytest.raises(ApprovalStoreError, match="does not encrypt"):
        open_store("memory:", cipher=PayloadCipher({"k": bytes(32)}, "k"))
    with pytest.raises(ApprovalStoreError, match="postgresql://"):
        open_postgres_store(str(tmp_path / "c.db"))
    assert isinstance(open_store("memory:"), MemoryApprovalStore)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's notes\n" * 100)
    path.chmod(0o600)
    with pytest.raises(ApprovalStoreError, match="SQLITE_NOTADB"):
        open_store(str(path))
    assert path.read_text().startswith("not a database")
