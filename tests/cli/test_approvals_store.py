"""The commands look at a store that guards have made: they make none, change no table, and say what is wrong."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import make_url

from aioc_opa.approvals.sql_schema import MIGRATIONS
from aioc_opa.approvals.stores import open_store
from aioc_opa.storage.database import Database
from tests.cli.approvals_office import Office

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

COMMANDS = ("list", "show", "access-log", "recover")


@pytest.fixture(params=["sqlite", "postgresql"])
def office(request: pytest.FixtureRequest, tmp_path: Path, aioc: Command) -> Office:
    target = str(tmp_path / "empty.db")
    if request.param == "sqlite":
        with closing(sqlite3.connect(target)) as empty:
            empty.execute("CREATE TABLE notes (text)")
        (tmp_path / "empty.db").chmod(0o600)
    else:
        target = str(request.getfixturevalue("postgres_schema_url"))
    made = Office(tmp_path, target, aioc)
    made.set_up()
    return made


def tables(office: Office) -> list[str]:
    if not office.store.startswith("postgres"):
        with closing(sqlite3.connect(office.store)) as database:
            return [row[0] for row in database.execute("SELECT name FROM sqlite_master ORDER BY name")]
    with psycopg.connect(office.store) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
        return [row[0] for row in connection.execute(query)]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_makes_a_store_in_an_empty_database(office: Office, command: str) -> None:
    before = tables(office)
    arguments = ["apr_" + "0" * 32, "--keys", str(office.folder / "keys.json")] if command == "show" else []
    found = office.run(command, *arguments)
    assert found.status == 3
    assert "there is no approval store in this database: a guard makes it" in found.err
    assert tables(office) == before
    with closing(open_store(office.store)):
        pass
    assert "aioc_approvals" in tables(office)
    assert office.run("list").out == "there is none\n"


def test_voting_and_removing_make_none_either(office: Office) -> None:
    before = tables(office)
    held = "apr_" + "0" * 32
    for found in (
        office.as_person("ann", "approve", held, "--yes-hash", "0"),
        office.as_person("ann", "dismiss", held),
        office.run("purge", held, *office.own_files("ann")),
        office.run("recover", "--settle", "0=returned", *office.own_files("ann")),
    ):
        assert found.status == 3
        assert "no approval store in this database" in found.err
    assert tables(office) == before


def test_a_store_of_an_older_or_a_newer_release_is_not_touched(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(office.store)):
        pass
    before = tables(office)
    later = (*MIGRATIONS, lambda _: ["CREATE TABLE never (x TEXT)"])
    monkeypatch.setattr("aioc_opa.approvals.sql_store.MIGRATIONS", later)
    older = office.run("list")
    assert older.status == 3
    assert "has version 1 and this release works with 2: start a guard" in older.err
    monkeypatch.undo()
    with closing(Database.open(office.store)) as database, database.begin() as connection:
        connection.exec_driver_sql("UPDATE aioc_schema_versions SET version = 9 WHERE component = 'approvals'")
    newer = office.run("list")
    assert newer.status == 3
    assert "update aioc-opa" in newer.err
    assert tables(office) == before


def test_why_a_server_cannot_be_used_is_said_without_its_address(
    tmp_path: Path, aioc: Command, postgres_url: str
) -> None:
    missing = make_url(postgres_url).set(database="canary-database").render_as_string(hide_password=False)
    for target, cause in (
        (missing, "database missing: "),
        ("postgresql://canary-user:canary-password@/db?host=/nonexistent", "refused: "),
    ):
        found = Office(tmp_path, target, aioc).run("list")
        assert found.status == 3
        assert cause in found.err
        assert "canary" not in found.err
