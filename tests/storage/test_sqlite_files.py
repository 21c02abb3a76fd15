"""Which SQLite files are opened, and how."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import sqlite_engine
from aioc_opa.storage.database import Database
from aioc_opa.storage.local_filesystem import refused_file_system

if TYPE_CHECKING:
    from pathlib import Path

from tests.storage.database_cases import add, first

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
