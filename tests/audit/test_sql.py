"""The same log in a table: SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from aioc_opa.audit.anchoring import make_anchor, read_anchor, write_anchor
from aioc_opa.audit.following import Follower
from aioc_opa.audit.reading import LogReader
from aioc_opa.audit.sources import DatabaseSource, open_source
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.audit.verifier import verify
from aioc_opa.errors import ApprovalStoreError, AuditLogError, AuditUnavailableError, InputFileError
from aioc_opa.storage.database import Database
from tests.audit.logs import KEY, KEYS, codes, event

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "audit.db")
    return str(request.getfixturevalue("postgres_schema_url"))


def opened(target: str, writer: str = "one", **others: object) -> AuditTrail:
    return AuditTrail(SqlSink(target), writer=writer, key=KEY, checkpoint_records=5, **others)  # type: ignore[arg-type] # of the trail


async def test_writers_share_a_table_and_each_has_its_chain(target: str, tmp_path: Path) -> None:
    with opened(target) as one, opened(target, "two", mode="best_effort") as two:
        for number in range(12):
            one.record_intent(event(number))
            two.record(event(number))
        await asyncio.gather(*(one.record_intent_async(event(number)) for number in range(5)))
    with opened(target) as again:
        again.record_intent(event(99))
    source = open_source(target)
    write_anchor(make_anchor(verify(source, KEYS).checkpoints, KEY), tmp_path / "note")
    report = verify(source, KEYS, anchors=[read_anchor(tmp_path / "note", KEYS)])
    assert report.findings == ()
    assert [one.writer for one in report.writers] == ["one", "two"]
    assert len(list(LogReader(source).records())) == sum(one.records for one in report.writers)


def test_rows_only_get_more_and_edits_by_who_can_are_found(target: str) -> None:
    with opened(target) as trail:
        for number in range(12):
            trail.record_intent(event(number))
    database = Database.open(target)
    changes = (
        "UPDATE aioc_audit_records SET hash = 'x' WHERE sequence = 3",
        "DELETE FROM aioc_audit_records WHERE sequence = 5",
    )
    for change in changes:
        with pytest.raises(ApprovalStoreError), database.begin() as connection:
            connection.execute(text(change))
    names = (
        ["aioc_audit_records_no_update", "aioc_audit_records_no_delete"]
        if database.dialect == "sqlite"
        else ["aioc_audit_records_insert_only ON aioc_audit_records"]
    )
    with database.begin() as connection:
        for name in names:
            connection.execute(text(f"DROP TRIGGER {name}"))
        for change in (*changes, "UPDATE aioc_audit_records SET sequence = 40 WHERE sequence = 9"):
            connection.execute(text(change))
        connection.execute(text("UPDATE aioc_audit_records SET record = '{}' WHERE sequence = 11"))
    database.close()
    found = codes(verify(DatabaseSource(target), KEYS))
    assert {"row_mismatch", "gap", "not_a_record", "out_of_order"} <= set(found)


def test_two_processes_under_one_name_cannot_fork_its_chain(target: str) -> None:
    with opened(target) as one, opened(target) as other:
        one.record_intent(event(1))
        with pytest.raises(AuditUnavailableError):
            other.record_intent(event(2))
        other.record_intent(event(3))  # it had written nothing: it finds where the chain is now, and declares it
        with pytest.raises(AuditUnavailableError):
            one.record_intent(event(4))  # behind what the other one has written
    report = verify(open_source(target), KEYS)
    assert report.sound
    assert [(part.first, part.last, part.vouched) for part in report.writers[0].ranges] == [(1, 2, False), (3, 6, True)]


def test_what_is_added_is_followed(target: str) -> None:
    with opened(target) as trail:
        trail.record_intent(event(1))
        follower = Follower(open_source(target))
        assert list(follower.added()) == []
        trail.record_intent(event(2))
        assert [line.sequence for line in follower.added()] == [3]
        assert list(follower.added()) == []


def test_a_last_row_that_is_no_record_of_this_writer_is_not_gone_on_with(target: str) -> None:
    with opened(target) as trail:
        trail.record_intent(event(1))
    database = Database.open(target)
    insert = "INSERT INTO aioc_audit_records (writer, sequence, hash, record) VALUES (:writer, 9, :hash, :record)"
    with database.begin() as connection:
        record = connection.execute(text("SELECT record FROM aioc_audit_records WHERE sequence = 2")).scalar_one()
        connection.execute(text(insert), {"writer": "one", "hash": "x", "record": "no record"})
        connection.execute(text(insert), {"writer": "two", "hash": "y", "record": record})
    database.close()
    for writer in ("one", "two"):
        with pytest.raises(AuditLogError):
            opened(target, writer)
    assert set(codes(verify(open_source(target), KEYS))) == {"not_a_record", "foreign_record"}


def test_what_is_no_database_is_refused_without_its_address(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(AuditLogError):
        SqlSink("mysql://user:secret@host/db")
    for wrong in (str(tmp_path / "missing.db"), "mysql://user:secret@host/db"):
        with pytest.raises(InputFileError):
            open_source(wrong)
    with pytest.raises(InputFileError, match="cannot be read"):
        DatabaseSource("postgresql://127.0.0.1:1/secret").writers()
    (tmp_path / "other.db").touch(0o600)
    with pytest.raises(InputFileError, match="no audit log in this database"):
        open_source(str(tmp_path / "other.db")).writers()
    (tmp_path / "text.db").write_text("no database " * 1000)
    (tmp_path / "text.db").chmod(0o600)
    with pytest.raises(InputFileError, match="cannot be read"):
        open_source(str(tmp_path / "text.db")).writers()
    with opened("postgresql://127.0.0.1:1/secret", timeout_seconds=30) as trail, pytest.raises(AuditUnavailableError):
        trail.record_intent(event())
    assert "secret" not in caplog.text


@pytest.mark.parametrize("name", ["rowid", "_rowid_", "oid"])
def test_no_record_is_replaced_by_a_hidden_rowid(tmp_path: Path, name: str) -> None:
    target = str(tmp_path / "audit.db")
    with opened(target) as trail:
        trail.record_intent(event(1))
    database = Database.open(target)
    for statement in (
        f"INSERT OR REPLACE INTO aioc_audit_records ({name}, writer, sequence, hash, record) VALUES (1,'o',9,'x','y')",  # noqa: S608 - our own names
        "INSERT INTO aioc_audit_records (writer, sequence, hash, record) VALUES ('one', -5, 'x', 'y')",
    ):
        with pytest.raises(ApprovalStoreError), database.begin() as connection:
            connection.exec_driver_sql(statement)
    database.close()
    assert verify(open_source(target), KEYS).findings == ()


@pytest.mark.parametrize("sequence", ["'abc'", "3.5", "'3x'", "x'33'"])
def test_a_row_whose_number_is_none_is_found_and_ends_the_reading(tmp_path: Path, sequence: str) -> None:
    target = str(tmp_path / "audit.db")
    with opened(target) as trail:
        for number in range(4):
            trail.record_intent(event(number))
        database = Database.open(target)
        with database.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO aioc_audit_records VALUES ('one', {sequence}, 'x', 'y')")  # noqa: S608 - our own numbers
        assert "not_a_record" in codes(verify(open_source(target), KEYS))
        reader = LogReader(open_source(target))
        assert len(list(reader.records())) >= 3
        assert reader.passed_over == 1
        if sequence != "3.5":  # behind the writer's last row
            with pytest.raises(AuditUnavailableError):
                trail.record_intent(event(9))
    database.close()


def test_rows_between_two_numbers_do_not_keep_a_reader_for_ever(tmp_path: Path) -> None:
    target = str(tmp_path / "audit.db")
    with opened(target) as trail:
        trail.record_intent(event())
    database = Database.open(target)
    with database.begin() as connection:
        for number in range(1, 1201):
            given = {"sequence": 1 + number / 2000, "hash": str(number)}
            connection.execute(text("INSERT INTO aioc_audit_records VALUES ('one', :sequence, :hash, 'y')"), given)
    database.close()
    assert codes(verify(open_source(target), KEYS)) == ["not_a_record"]


def test_a_row_whose_writer_is_no_text_is_no_row_of_nobody(tmp_path: Path) -> None:
    target = str(tmp_path / "audit.db")
    with opened(target) as trail:
        trail.record_intent(event())
    database = Database.open(target)
    with database.begin() as connection:
        connection.exec_driver_sql("INSERT INTO aioc_audit_records VALUES (x'6f6e65', 1, 'x', 'y')")
    database.close()
    with pytest.raises(InputFileError, match="writer is no text"):
        verify(open_source(target), KEYS)


@pytest.mark.parametrize("column", ["record", "hash"])
@pytest.mark.parametrize(
    "value",
    ["CAST(x'ff7b' AS TEXT)", "CAST({} AS BLOB)", "7", "substr({}, 2)"],
    ids=["no-utf-8", "blob", "number", "cut"],
)
def test_a_value_that_is_no_text_is_found_at_its_record_and_hides_no_other(
    tmp_path: Path, column: str, value: str
) -> None:
    target = tmp_path / "audit.db"
    with AuditTrail(SqlSink(str(target)), writer="one", key=KEY) as opened:
        for number in range(5):
            opened.record(event(number))
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        statement = f"UPDATE aioc_audit_records SET {column} = {value.format(column)} WHERE sequence = 3"  # noqa: S608 - ours
        assert database.execute(statement).rowcount == 1
    report = verify(open_source(str(target)), KEYS)
    assert {finding.sequence for finding in report.findings} <= {3, 4}
    assert 3 in {finding.sequence for finding in report.findings}
    assert len([record for record in LogReader(open_source(str(target))).records() if record.sequence != 3]) == 6


def test_a_writer_whose_name_is_no_utf_8_is_no_row_of_nobody(tmp_path: Path) -> None:
    target = tmp_path / "audit.db"
    AuditTrail(SqlSink(str(target)), writer="one", key=KEY).close()
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.execute("INSERT INTO aioc_audit_records VALUES (CAST(x'ff' AS TEXT), 1, 'h', 'r')")
    with pytest.raises(InputFileError, match="writer is no text"):
        open_source(str(target)).writers()
