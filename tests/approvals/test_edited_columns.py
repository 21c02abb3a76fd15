"""Every column of every table, edited: nothing else runs than what was approved, nothing twice, and no row hides another.

SQLite keeps any value in any column; PostgreSQL's types refuse most of them, and what is left is in this list as well.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import RunContext
from aioc_opa.approvals.sql_tables import approvals
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from tests.approvals.desk import Desk
from tests.approvals.treasury import Treasury

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase

TABLES = {table.name: [column.name for column in table.columns] for table in approvals.metadata.sorted_tables}
NO_TEXT = "CAST(x'ff' AS TEXT)"
VALUES = (
    "NULL",
    "''",
    "'garbage'",
    "'[]'",
    "'{}'",
    "7",
    "-1",
    "9e18",
    "x'00ff'",
    NO_TEXT,
    "printf('%.*c', 100000, 'x')",
)
RAN = ("A7", 500.0)


class Editor:
    """A treasury, and somebody who may write anything into its SQLite file."""

    def __init__(self, case: SqlCase, engine: Engine) -> None:
        self.case = case
        self.desk = Desk(Treasury(engine=engine, store=case.store))
        self.runs = 0
        with closing(self.connect()) as database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {name}")

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.case.target, isolation_level=None)

    def held(self) -> str:
        self.runs += 1
        return self.desk.held(run_context=self.context(), call_id=f"call-{self.runs}")

    def context(self) -> RunContext:
        return RunContext(run_id=f"run-{self.runs}", context={"frozen": False})

    def approved(self) -> str:
        approval_id = self.held()
        self.desk.treasury.vote(approval_id)
        return approval_id

    def used(self) -> str:
        approval_id = self.approved()
        assert self.desk.resume(approval_id, run_context=self.context()) == "moved 500.0 to A7"
        return approval_id

    def edited(self, table: str, column: str, value: str, approval_id: str) -> bool:
        """Whether a row of the approval was there, and took the value."""
        by = "approval_id" if "approval_id" in TABLES[table] else "execution_id"
        mine = (
            "(SELECT execution_id FROM aioc_effect_intents WHERE approval_id = :id)" if by == "execution_id" else ":id"
        )
        with closing(self.connect()) as database, suppress(sqlite3.IntegrityError):
            statement = f"UPDATE {table} SET {column} = {value} WHERE {by} = {mine}"  # noqa: S608 - our own names
            return database.execute(statement, {"id": approval_id}).rowcount > 0
        return False

    def tries(self, approval_id: str) -> Any:
        """Resume it, and run it when that is allowed. Whatever was edited, this is an outcome and no exception."""
        context = self.context()
        outcome = self.desk.authorize_resume(approval_id, run_context=context)
        if isinstance(outcome, Allowed):
            self.desk.execute(outcome.permit)
        else:
            assert isinstance(outcome, Denied | Suspended)
        return outcome

    def listed(self) -> tuple[set[str], list[str]]:
        unreadable: list[str] = []
        found = self.case.store.find("acme", frozenset(ApprovalState), 100_000, unreadable=unreadable.append)
        return {record.approval_id for record in found}, unreadable


@pytest.fixture
def editor(sqlite_case: SqlCase, treasury_engines: dict[str, Engine]) -> Editor:
    return Editor(sqlite_case, treasury_engines["embedded"])


def other(table: str, column: str, approval_id: str) -> str:
    """What the row of another approval has there."""
    return f"(SELECT {column} FROM {table} WHERE approval_id = '{approval_id}' LIMIT 1)"  # noqa: S608 - our own names


@pytest.mark.parametrize("column", TABLES["aioc_approvals"])
def test_a_column_of_a_request(editor: Editor, column: str) -> None:
    neighbour = editor.approved()
    smaller = editor.desk.held('{"to": "B8", "amount": 400}')
    taken = 0
    for value in (*VALUES, *(other("aioc_approvals", column, each) for each in (neighbour, smaller))):
        for made in (editor.held, editor.approved, editor.used):
            editor.desk.ran.clear()
            victim = made()
            done = list(editor.desk.ran)
            taken += editor.edited("aioc_approvals", column, value, victim)
            outcome = editor.tries(victim)
            assert editor.desk.ran in (done, [RAN]), (value, made.__name__, outcome)
            if made == editor.held:
                assert editor.desk.ran == [], (value, outcome)
            ids, unreadable = editor.listed()
            assert {neighbour, smaller} <= ids, (value, unreadable)
    assert taken
    editor.runs = 1
    editor.desk.ran.clear()
    assert isinstance(editor.tries(neighbour), Allowed)
    assert editor.desk.ran == [RAN]


@pytest.mark.parametrize("column", TABLES["aioc_approval_votes"])
def test_a_column_of_a_vote(editor: Editor, column: str) -> None:
    neighbour = editor.approved()
    taken = 0
    others = () if column == "key_id" else (other("aioc_approval_votes", column, neighbour),)  # one key signs all
    for value in (*VALUES, *others):
        editor.desk.ran.clear()
        victim = editor.approved()
        if editor.edited("aioc_approval_votes", column, value, victim):
            taken += 1
            outcome = editor.tries(victim)
            signed = column not in {"at_ms", "seq"}
            assert editor.desk.ran == ([] if signed else editor.desk.ran[:1]), (value, outcome)
            assert neighbour in editor.listed()[0]
    assert taken


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, column)
        for table, columns in TABLES.items()
        if table not in {"aioc_approvals", "aioc_approval_votes", "aioc_approval_access"}
        for column in columns
    ],
)
def test_a_column_of_what_was_used_up(editor: Editor, table: str, column: str) -> None:
    neighbour = editor.approved()
    for value in VALUES:
        editor.desk.ran.clear()
        victim = editor.used()
        editor.edited(table, column, value, victim)
        outcome = editor.tries(victim)
        assert editor.desk.ran == [RAN], (value, outcome)
        assert neighbour in editor.listed()[0]


def test_every_table_is_here() -> None:
    assert len(TABLES) == 8
    assert sum(map(len, TABLES.values())) > 40


def test_what_cannot_be_read_is_named(editor: Editor) -> None:
    fine, broken, without_id = editor.held(), editor.held(), editor.held()
    assert editor.edited("aioc_approvals", "terms", "'garbage'", broken)
    assert editor.edited("aioc_approvals", "approval_id", NO_TEXT, without_id)
    ids, unreadable = editor.listed()
    assert ids == {fine}
    assert unreadable == [broken, "row 3"]
