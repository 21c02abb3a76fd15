"""Databases over forks, and PostgreSQL's sessions."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import text

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import postgres_engine
from aioc_opa.storage.database import Database
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

from tests.storage.database_cases import add, first, names

# --- forks

FORKS = """
import os, sys, threading, warnings
from sqlalchemy import text
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.database import Database

warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on, of a fork while threads run
database = Database.open(sys.argv[1])

def add(name):
    with database.begin() as connection:
        connection.execute(text("INSERT INTO things (name) VALUES (:name)"), {"name": name})

def forked(step):
    child = os.fork()
    if child == 0:
        try:
            step()
        except ApprovalStoreError as problem:
            os.write(1, str(problem).encode())
            os._exit(7)
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 8)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def fork(target: str, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FORKS + code, target], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_parent_and_child_go_on_after_a_fork(database: Database, target: str) -> None:
    code = """
add("before")
threads = [threading.Thread(target=lambda n=n: [add(f"thread-{n}-{i}") for i in range(20)]) for n in range(2)]
for thread in threads:
    thread.start()
codes = [forked(lambda n=n: [add(f"child-{n}-{i}") for i in range(5)]) for n in range(5)]
for thread in threads:
    thread.join()
add("after")
print(codes)
"""
    assert fork(target, code) == "[0, 0, 0, 0, 0]\n"
    assert len(names(database)) == 2 + 40 + 25


def test_a_child_forked_inside_a_step_cannot_use_sqlite_and_its_parent_can(tmp_path: Path) -> None:
    with closing(Database.open(tmp_path / "a.db")) as database:
        database.migrate("things", [first])
        code = """
with database.begin() as connection:
    connection.execute(text("INSERT INTO things (name) VALUES ('a')"))
    code = forked(lambda: add("b"))
    other = forked(lambda: Database.open(sys.argv[1]).migrate("x", []))
    closed = forked(database.close)
add("c")
print(code, other, closed)
"""
        said = fork(str(tmp_path / "a.db"), code)
        assert said.count("forked inside a step") == 2
        assert said.endswith("7 7 0\n")
        assert names(database) == ["a", "c"]


def test_a_child_leaves_the_parents_postgresql_sessions_alone(postgres_schema_url: str) -> None:
    with closing(Database.open(postgres_schema_url)) as database:
        database.migrate("things", [first])
        code = """
def session():
    with database.begin() as connection:
        return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
before = session()
def child():
    if session() == before:
        raise SystemError
print(forked(child), session() == before)
"""
        assert fork(postgres_schema_url, code) == "0 True\n"


# --- PostgreSQL


def end_sessions(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'aioc-opa' AND pid <> pg_backend_pid()"
        )


def test_sessions_that_the_server_has_ended_are_replaced(postgres_schema_url: str) -> None:
    with closing(Database.open(postgres_schema_url)) as database:
        database.migrate("things", [first])
        end_sessions(postgres_schema_url)
        add(database, "a")
        assert names(database) == ["a"]


def test_a_session_that_ends_inside_a_step_is_an_error_and_nothing_happened(postgres_schema_url: str) -> None:
    with closing(Database.open(postgres_schema_url)) as database:
        database.migrate("things", [first])

        def cut() -> None:
            with database.begin() as connection:
                connection.execute(text("INSERT INTO things (name) VALUES ('a')"))
                end_sessions(postgres_schema_url)
                connection.execute(text("INSERT INTO things (name) VALUES ('b')"))

        with pytest.raises(ApprovalStoreError, match="postgresql database failed"):
            cut()
        assert names(database) == []


@pytest.mark.parametrize(("asked", "got"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_commits_are_durable_whatever_the_address_says_and_nothing_waits_for_ever(
    postgres_schema_url: str, asked: str, got: str
) -> None:
    url = postgres_schema_url + f"%20-csynchronous_commit%3D{asked}"
    with closing(Database.open(url)) as database, database.begin() as connection:
        settings = [
            connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in (
                "synchronous_commit", "lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout",
                "transaction_isolation",
            )
        ]  # fmt: skip
    assert settings == [got, "5s", "10s", "15s", "read committed"]


def test_a_server_without_fsync_is_refused() -> None:
    class Connection:
        def execute(self, statement: str) -> Any:
            return self

        def fetchone(self) -> tuple[str, ...]:
            return ("5s", "off")

        def commit(self) -> None:
            pass

    with pytest.raises(ApprovalStoreError, match="fsync"):
        postgres_engine._set_up(Connection(), None)


def test_an_unreachable_server_is_an_error_without_its_password(tmp_path: Path) -> None:
    database = Database.open(f"postgresql://user:hidden@/x?host={tmp_path}")
    with closing(database), pytest.raises(ApprovalStoreError) as caught, database.begin():
        pass
    assert "hidden" not in str(caught.value)
