"""A database of one of two kinds, with what stores need of it: one transaction, the server's clock, a schema.

Every failure is an `ApprovalStoreError` without a value in it. Nothing is tried again: a step whose connection is
lost at COMMIT may have happened, and only its caller knows what that means.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import forks
from aioc_opa.storage.connection_failures import connection_words
from aioc_opa.storage.migrations import Dialect, Migration, bring_up, refuse_newer, version_of
from aioc_opa.storage.targets import engine_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.exc import SQLAlchemyError

NOW_MS: Final[dict[Dialect, str]] = {
    # SQLite 3.40 has no unixepoch('subsec') yet (https://sqlite.org/lang_datefunc.html).
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)",
    # Not now(): that is when the transaction began, and it may have waited for a lock since.
    "postgresql": "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
}
"""SQL expressions of the server's clock, milliseconds since 1970."""

_WAIT_SECONDS: Final = 10.0

_CURES: Final = {
    "SQLITE_NOTADB": ": this file is no SQLite database",
    "42501": ": this account may not do that; grant it to the account",
}

_READING: Final[dict[Dialect, dict[str, Any]]] = {
    "sqlite": {"aioc_opa_begin": "BEGIN DEFERRED"},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}


class Database:
    """An open database. Thread-safe, usable by several processes at once, and after a fork on both sides.

    Attributes:
        dialect: ``"sqlite"`` or ``"postgresql"``.
    """

    def __init__(self, engine: Engine, dialect: Dialect) -> None:
        self.dialect: Final[Dialect] = dialect
        self._engine = engine
        self._closed = False
        # SQLite writes one at a time anyway; one connection a process is what a fork can be kept apart from.
        self._turn = forks.Turn() if dialect == "sqlite" else None
        self._inherited: list[object] = []
        forks.watch(self)

    @classmethod
    def open(cls, target: str | Path) -> Database:
        """Open the database that `target` names; it is connected to when it is first used.

        Args:
            target: path of a SQLite file (made when it is missing, mode 0600), ``sqlite:///…`` or ``postgresql://…``.

        Raises:
            ApprovalStoreError: it cannot be one: an unknown scheme, in memory, on a network file system, readable by
                others, or a package is missing.
        """
        engine, dialect = engine_for(target)
        return cls(engine, dialect)

    @contextmanager
    def begin(self, *, read_only: bool = False) -> Iterator[Connection]:
        """One transaction: committed and durable at the end of the block, rolled back when it raises.

        SQLite: ``BEGIN IMMEDIATE``, so no other writer is between a read and a write. PostgreSQL: READ COMMITTED; who
        reads first locks the row (``FOR UPDATE``). Not reentrant. No single answer is waited for longer than some 10 s,
        that of a server that hangs included.

        Args:
            read_only: one consistent view for reading; on SQLite other processes may write meanwhile.

        Raises:
            ApprovalStoreError: the database fails; when that is at the end, whether the step happened is not known.
        """
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - an optional dependency

        try:
            with self._alone() as engine, engine.connect() as connection:
                if read_only:
                    connection.execution_options(**_READING[self.dialect])
                with connection.begin():
                    yield connection
        except SQLAlchemyError as problem:
            raise ApprovalStoreError(f"the {self.dialect} database failed: {_failure(problem)}") from None

    def now_ms(self, connection: Connection) -> int:
        """The server's clock now, milliseconds since 1970, also late in a transaction."""
        return int(connection.exec_driver_sql(f"SELECT {NOW_MS[self.dialect]}").scalar_one())

    def migrate(self, component: str, migrations: Sequence[Migration]) -> None:
        """Bring the schema of `component` to the version ``len(migrations)``, in one transaction.

        Raises:
            ApprovalStoreError: the database has a newer version, or fails.
        """
        there = self.version(component)
        refuse_newer(there, component, migrations)
        if there < len(migrations):
            with self.begin() as connection:
                bring_up(connection, self.dialect, component, migrations)

    def version(self, component: str) -> int:
        """The version of the schema of `component`, 0 when there is none. Changes nothing.

        Raises:
            ApprovalStoreError: the database fails.
        """
        with self.begin(read_only=True) as connection:
            return version_of(connection, component)

    def forget_erased(self) -> None:
        """SQLite: fold the write-ahead log into the file and cut it, unless somebody reads it now: it has old copies.

        PostgreSQL keeps old rows until it vacuums, and its log as long as it is set to.

        Raises:
            ApprovalStoreError: the database fails.
        """
        if self.dialect == "sqlite":
            from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - an optional dependency

            try:
                with self._alone() as engine, engine.connect() as connection:
                    connection.execution_options(aioc_opa_begin=None)
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            except SQLAlchemyError as problem:
                raise ApprovalStoreError(f"the sqlite database failed: {_failure(problem)}") from None

    def close(self) -> None:
        """Close every connection. Later calls raise; closing again does nothing."""
        if self._closed or (self._turn is not None and forks.lost()):
            self._closed = True
            return
        with self._alone() as engine:
            self._closed = True
            engine.dispose()

    @contextmanager
    def _alone(self) -> Iterator[Engine]:
        """The engine, on SQLite for one thread at a time."""
        engine = self._usable()
        if self._turn is None:
            yield engine
            return
        if not self._turn.take(_WAIT_SECONDS):
            raise ApprovalStoreError("the database is busy in another thread for too long")
        try:
            yield self._usable()
        finally:
            self._turn.give()

    def _usable(self) -> Engine:
        if self._closed:
            raise ApprovalStoreError("the database is closed")
        if self._turn is not None and forks.lost():
            raise ApprovalStoreError(
                "this process was forked inside a step of SQLite: fork elsewhere, or start it anew"
            )
        return self._engine

    def before_fork(self) -> bool:
        """See `forks`. PostgreSQL's connections can be left alone by a child."""
        if self._turn is None:
            return True
        if not self._turn.take(_WAIT_SECONDS):
            return False
        self._engine.dispose()
        return True

    def after_fork(self) -> None:
        """See `forks`."""
        if self._turn is not None:
            self._turn.give()

    def in_child(self) -> None:
        """See `forks`. The inherited connections are kept, unused: closing them would end the parent's sessions."""
        if self._turn is None:
            self._inherited.append(self._engine.pool)
            self._engine.dispose(close=False)


def _failure(problem: SQLAlchemyError) -> str:
    """A class and the driver's code: its text may hold values (``DETAIL: Key (…)=(…)``)."""
    cause = getattr(problem, "orig", None)
    code = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    if code is not None:
        return f"{type(problem).__name__} {code}{_CURES.get(code, '')}"
    if type(cause).__module__.startswith("psycopg") and not getattr(problem, "statement", None):
        return connection_words(str(cause))
    return type(problem).__name__
