"""A budget ledger in SQLite or PostgreSQL, for several processes (extra ``approvals``; PostgreSQL: ``postgres``).

One statement reserves: insert, or add unless that passes the limit. Between it and its commit nobody else adds: SQLite
has one writer, and PostgreSQL locks the row and looks at the condition again when it gets it
(https://www.postgresql.org/docs/current/transaction-iso.html, section 13.2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.access.budgets import Charge
from aioc_opa.access.details import Detail
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from aioc_opa.storage.migrations import Dialect

_COMPONENT: Final = "budgets"

_RESERVE: Final = """
INSERT INTO aioc_budgets AS b (budget_key, spent, touched_ms) VALUES (:key, :cost, :now)
ON CONFLICT (budget_key) DO UPDATE SET spent = b.spent + excluded.spent, touched_ms = excluded.touched_ms
WHERE b.spent + excluded.spent <= :limit
RETURNING spent
"""

_GIVE_BACK: Final = """
UPDATE aioc_budgets SET spent = CASE WHEN spent > :cost THEN spent - :cost ELSE 0 END WHERE budget_key = :key
"""

_FORGET: Final = "DELETE FROM aioc_budgets WHERE touched_ms < :before"


_TABLE: Final = """
CREATE TABLE aioc_budgets (
    budget_key CHAR(64) PRIMARY KEY, spent BIGINT NOT NULL CHECK (spent >= 0), touched_ms BIGINT NOT NULL
)
"""


def _first(_dialect: Dialect) -> Sequence[str]:
    return (
        _TABLE,
        "CREATE INDEX aioc_budgets_touched ON aioc_budgets (touched_ms)",
    )


_MIGRATIONS: Final = (_first,)


class _RefusedError(Exception):
    """A limit refuses the charge at `index`."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def _reserved(connection: Connection, charge: Charge, now_ms: int) -> bool:
    from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

    if not 0 <= charge.cost <= charge.limit:
        return False
    values = {"key": charge.key, "cost": charge.cost, "limit": charge.limit, "now": now_ms}
    return connection.execute(text(_RESERVE), values).first() is not None


class SqlBudgetLedger:
    """A ledger in a database. Thread-safe, and safe between processes.

    Args:
        database: open; its schema is brought up to date.

    Raises:
        ApprovalStoreError: the database fails, or has a newer schema.
    """

    blocks: Final = True

    def __init__(self, database: Database) -> None:
        database.migrate(_COMPONENT, _MIGRATIONS)
        self._database: Final = database

    @classmethod
    def open(cls, target: str | Path) -> SqlBudgetLedger:
        """The ledger in the database that `target` names; see `Database.open`. Close it with `close`."""
        return cls(Database.open(target))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def reserve(self, key: str, cost: int, limit: int) -> bool:
        """As `BudgetLedger.reserve`.

        Raises:
            ApprovalStoreError: the database fails; the cost may have been added.
        """
        return self.reserve_all([Charge(key, cost, limit, Detail.BUDGET_UNAVAILABLE)]) is None

    def reserve_all(self, charges: Sequence[Charge]) -> int | None:
        """As `BatchBudgetLedger.reserve_all`, in one transaction.

        Raises:
            ApprovalStoreError: the database fails; the costs may have been added.
        """
        try:
            with self._database.begin() as connection:
                now = self._database.now_ms(connection)
                # In the order of keys: two calls that lock the same rows in different orders would wait for each other.
                for index in sorted(range(len(charges)), key=lambda number: charges[number].key):
                    if not _reserved(connection, charges[index], now):
                        raise _RefusedError(index)
        except _RefusedError as refused:  # which rolls back what was added before it
            return refused.index
        return None

    def give_back(self, key: str, cost: int) -> None:
        """As `BudgetLedger.give_back`.

        Raises:
            ApprovalStoreError: the database fails.
        """
        self.give_back_all([Charge(key, cost, cost, Detail.BUDGET_UNAVAILABLE)])

    def give_back_all(self, charges: Sequence[Charge]) -> None:
        """As `BatchBudgetLedger.give_back_all`, in one transaction.

        Raises:
            ApprovalStoreError: the database fails.
        """
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        with self._database.begin() as connection:
            for charge in sorted(charges, key=lambda one: one.key):
                connection.execute(text(_GIVE_BACK), {"key": charge.key, "cost": charge.cost})

    def forget(self, older_than_seconds: float) -> int:
        """Delete what nothing was reserved under for so long: runs that are over, windows that are past.

        Keep it longer than the longest run and window: what is forgotten starts anew.

        Returns:
            How many keys are gone.

        Raises:
            ApprovalStoreError: the database fails.
        """
        from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

        with self._database.begin() as connection:
            before = self._database.now_ms(connection) - int(older_than_seconds * 1000)
            return connection.execute(text(_FORGET), {"before": before}).rowcount
