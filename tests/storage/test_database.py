"""`Database`: one durable transaction, on two kinds of databases, whatever else happens to the process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.database import Database
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aioc_opa.storage.migrations import Dialect
from tests.storage.database_cases import add, first, names


def second(_: Dialect) -> Sequence[str]:
    return ["ALTER TABLE things ADD COLUMN size INTEGER"]


def broken(_: Dialect) -> Sequence[str]:
    return ["CREATE TABLE more (name TEXT)", "CREATE TABLE more (name TEXT)"]


def test_a_transaction_is_kept_whole_or_not_at_all(database: Database) -> None:
    add(database, "a")

    def half() -> None:
        with database.begin() as connection:
            connection.execute(text("INSERT INTO things (name) VALUES ('b')"))
            raise LookupError("in the middle")

    with pytest.raises(LookupError, match="in the middle"):
        half()
    assert names(database) == ["a"]


def test_the_clock_is_the_servers_and_goes_on_inside_a_transaction(database: Database) -> None:
    with database.begin() as connection:
        before = database.now_ms(connection)
        time.sleep(0.02)
        assert database.now_ms(connection) > before
    assert abs(before - time.time_ns() // 1_000_000) < 60_000


def test_a_failure_has_a_code_and_no_values(database: Database) -> None:
    add(database, "secret-value")
    with pytest.raises(ApprovalStoreError) as caught:
        add(database, "secret-value")
    assert "secret-value" not in str(caught.value)
    assert any(code in str(caught.value) for code in ("23505", "SQLITE_CONSTRAINT_PRIMARYKEY"))
    assert caught.value.__suppress_context__


def test_reading_only_reads(database: Database) -> None:
    if database.dialect == "postgresql":
        with pytest.raises(ApprovalStoreError, match="25006"), database.begin(read_only=True) as connection:
            connection.execute(text("INSERT INTO things (name) VALUES ('a')"))
    assert names(database) == []


def test_a_closed_database_refuses(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(ApprovalStoreError, match="closed"), database.begin():
        pass
    with pytest.raises(ApprovalStoreError, match="closed"):
        database.migrate("things", [first])


def test_many_threads_share_one_database(database: Database) -> None:
    threads = [threading.Thread(target=add, args=(database, f"{number:02}")) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(database) == [f"{number:02}" for number in range(24)]


# --- migrations


def test_migrations_are_applied_once_and_in_order(database: Database) -> None:
    add(database, "a")
    for _ in range(2):
        database.migrate("things", [first, second])
    with database.begin() as connection:
        assert connection.execute(text("SELECT size FROM things")).scalars().all() == [None]
    with pytest.raises(ApprovalStoreError, match="version 2 and this release knows 1"):
        database.migrate("things", [first])


def test_components_count_for_themselves(database: Database) -> None:
    database.migrate("other", [lambda _: ["CREATE TABLE others (name TEXT)"]])
    database.migrate("things", [first])
    with database.begin(read_only=True) as connection:
        query = text("SELECT component, version FROM aioc_schema_versions ORDER BY component")
        assert [tuple(row) for row in connection.execute(query)] == [("other", 1), ("things", 1)]


def test_a_migration_that_fails_leaves_nothing(database: Database) -> None:
    for _ in range(2):
        with pytest.raises(ApprovalStoreError):
            database.migrate("things", [first, broken])
    database.migrate("things", [first, lambda _: ["CREATE TABLE more (name TEXT)"]])


# --- targets


@pytest.mark.parametrize(
    "target",
    [
        "", ":memory:", "sqlite:///:memory:", "sqlite://", "sqlite://host/x.db", "sqlite:///", "file:x.db", "x.db?mode=ro", "sqlite:///x.db?mode=ro", "x#y.db",
        "mysql://host/x", "postgresql+asyncpg://host/x", "http://host/x", "a\0b", "postgresql://h:port/x",
    ],
)  # fmt: skip
def test_what_is_no_target_is_refused_without_an_echo(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ApprovalStoreError) as caught:
        Database.open(target)
    assert target in {"", "sqlite://", "sqlite:///"} or target not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("module", "extra"), [("sqlalchemy", "approvals"), ("psycopg", "postgres")])
def test_a_missing_package_names_its_extra(module: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.database import Database
for target in ("/tmp/x.db", "postgresql://h/x")[{module == "psycopg"!r}:]:
    try:
        Database.open(target)
    except ApprovalStoreError as problem:
        print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert extra in done.stdout
