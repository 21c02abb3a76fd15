"""Schemas with versions: each component counts its own, and a database that is newer than the code is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

Dialect = Literal["sqlite", "postgresql"]

Migration = Callable[[Dialect], Sequence[str]]
"""The statements that lead from one version to the next. Once released it is never changed: add another."""

_TABLE = """
CREATE TABLE IF NOT EXISTS aioc_schema_versions (
    component VARCHAR(64) PRIMARY KEY,
    version INTEGER NOT NULL
)
"""

_LOCK = 0x61696F63
"""PostgreSQL advisory lock that is held while a schema is changed: `CREATE … IF NOT EXISTS` alone can race."""


def version_of(connection: Connection, component: str) -> int:
    """The version that the database has of `component`, 0 when it has none."""
    from sqlalchemy import inspect, text  # noqa: PLC0415 - an optional dependency

    if not inspect(connection).has_table("aioc_schema_versions"):
        return 0
    query = text("SELECT version FROM aioc_schema_versions WHERE component = :component")
    found = connection.execute(query, {"component": component}).scalar_one_or_none()
    return 0 if found is None else int(found)


def bring_up(connection: Connection, dialect: Dialect, component: str, migrations: Sequence[Migration]) -> None:
    """Apply what is missing, inside the caller's transaction: all of it or nothing.

    Raises:
        ApprovalStoreError: the database has a version that this code does not know.
    """
    from sqlalchemy import text  # noqa: PLC0415 - an optional dependency

    if dialect == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
    connection.exec_driver_sql(_TABLE)
    there = version_of(connection, component)
    refuse_newer(there, component, migrations)
    for migration in migrations[there:]:
        for statement in migration(dialect):
            connection.exec_driver_sql(statement)
    connection.execute(
        text(
            "INSERT INTO aioc_schema_versions (component, version) VALUES (:component, :version) "
            "ON CONFLICT (component) DO UPDATE SET version = excluded.version"
        ),
        {"component": component, "version": len(migrations)},
    )


def refuse_newer(version: int, component: str, migrations: Sequence[Migration]) -> None:
    """A newer schema may mean something that this code does not know of: it must not touch it.

    Raises:
        ApprovalStoreError: it is newer.
    """
    if version > len(migrations):
        raise ApprovalStoreError(
            f"the schema {component!r} has version {version} and this release knows {len(migrations)}: update aioc-opa"
        )
