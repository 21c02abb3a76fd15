"""What is particular to an encrypted store, to SQLite, to PostgreSQL, and to opening one by its address."""

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
    intent_for,
    new_approval,
    signed_vote,
)

if TYPE_CHECKING:
    from pathlib import Path


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
