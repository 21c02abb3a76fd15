"""`Database`: one durable transaction, on two kinds of databases, whatever else happens to the process."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import text

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import postgres_engine, sqlite_engine
from aioc_opa.storage.database import Database
from aioc_opa.storage.local_filesystem import refused_file_system
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from aioc_opa.storage.migrations import Dialect


def first(_: Dialect) -> Sequence[str]:
    return ["CREATE TABLE things (name TEXT PRIMARY KEY)"]


def second(_: Dialect) -> Sequence[str]:
    return ["ALTER TABLE things ADD COLUMN size INTEGER"]


def broken(_: Dialect) -> Sequence[str]:
    return ["CREATE TABLE more (name TEXT)", "CREATE TABLE more (name TEXT)"]


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "things.db")
    return str(request.getfixturevalue("postgres_schema_url"))


@pytest.fixture
def database(target: str) -> Iterator[Database]:
    with closing(Database.open(target)) as opened:
        opened.migrate("things", [first])
        yield opened


def names(database: Database) -> list[str]:
    with database.begin(read_only=True) as connection:
        return list(connection.execute(text("SELECT name FROM things ORDER BY name")).scalars())


def add(database: Database, name: str) -> None:
    with database.begin() as connection:
        connection.execute(text("INSERT INTO things (name) VALUES (:name)"), {"name": name})


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


# --- SQLite


def test_sqlite_is_durable_at_each_commit_and_logs_ahead(tmp_path: Path) -> None:
    with closing(Database.open(tmp_path / "a.db")) as database, database.begin() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "trusted_schema")
        }
    assert settings == {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "trusted_schema": 0,
    }  # fmt: skip


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(ApprovalStoreError, match="600"):
            Database.open(path)
    path.chmod(0o600)
    Database.open(path).close()


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ApprovalStoreError, match="FileNotFoundError"):
        Database.open(tmp_path / "none" / "a.db")


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_engine, "refused_file_system", lambda place: "nfs4")
    with pytest.raises(ApprovalStoreError, match="'nfs4'"):
        Database.open(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_a_file_on_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    if there:
        (far / "a.db").touch(0o600)
    (tmp_path / "link.db").symlink_to(far / "a.db")
    mounts = tmp_path / "mountinfo"
    line = "36 35 98:0 / {point} rw shared:1 - {kind} /dev/x rw\n"
    mounts.write_text(line.format(point="/", kind="ext4") + line.format(point=far, kind="nfs4"))
    monkeypatch.setattr(sqlite_engine, "refused_file_system", lambda place: refused_file_system(place, mounts))
    with pytest.raises(ApprovalStoreError, match="'nfs4'"):
        Database.open(tmp_path / "link.db")
    assert (far / "a.db").exists() is there


def test_a_file_that_is_a_network_mount_of_its_own_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_engine, "refused_file_system", lambda place: "9p" if place.name == "a.db" else None)
    with pytest.raises(ApprovalStoreError, match="'9p'"):
        Database.open(tmp_path / "a.db")


def test_a_link_leads_to_its_file_and_links_in_a_circle_nowhere(tmp_path: Path) -> None:
    real, link, circle = tmp_path / "real" / "a.db", tmp_path / "link.db", tmp_path / "circle.db"
    real.parent.mkdir()
    link.symlink_to(real)
    with closing(Database.open(link)) as database:
        database.migrate("things", [first])
        assert {file.name for file in real.parent.iterdir()} == {"a.db", "a.db-wal", "a.db-shm"}
        link.unlink()
        link.symlink_to(tmp_path / "other.db")  # later links are not followed: the file was looked at, not the link
        add(database, "a")
    assert not (tmp_path / "other.db").exists()
    circle.symlink_to(circle)
    with pytest.raises(ApprovalStoreError, match="cannot be made or seen"):
        Database.open(circle)


@pytest.mark.parametrize(
    "name", ["a%41b.db", "a%2fb.db", "a b.db", "a?mode=ro.db", "a#b.db", "a:b@c.db", "ä&=;.db", "%.db"]
)
def test_a_path_names_exactly_its_file(tmp_path: Path, name: str) -> None:
    targets: list[str | Path] = [tmp_path / name]
    if not set("?#").intersection(name):  # in a word they could mean parameters, and are refused: see above
        targets += [str(tmp_path / name), f"sqlite:///{tmp_path / name}"]
    for target in targets:
        with closing(Database.open(target)) as database:
            database.migrate("things", [first])
            assert {file.name for file in tmp_path.iterdir()} == {name, f"{name}-wal", f"{name}-shm"}
            with closing(sqlite3.connect(tmp_path / name)) as other:
                assert other.execute("SELECT count(*) FROM things").fetchall() == [(0,)]
        assert [file.name for file in tmp_path.iterdir()] == [name]


def test_two_that_make_the_file_at_once_get_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    real = os.link

    def slow(source: Path, goal: Path) -> None:
        goal.touch(mode=0o600)  # the other one
        real(source, goal)

    monkeypatch.setattr(os, "link", slow)
    Database.open(path).close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_step_inside_a_step_is_refused_at_once(tmp_path: Path) -> None:
    with closing(Database.open(tmp_path / "a.db")) as database, database.begin():
        with pytest.raises(ApprovalStoreError, match="busy"), database.begin():
            pass
        with pytest.raises(ApprovalStoreError, match="busy"):
            database.close()


def test_a_file_system_without_a_write_ahead_log_is_refused() -> None:
    class Connection:
        def execute(self, statement: str) -> Any:
            return self

        def fetchone(self) -> tuple[str]:
            return ("delete",)

    with pytest.raises(ApprovalStoreError, match="write-ahead"):
        sqlite_engine._set_up(Connection(), None)


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
