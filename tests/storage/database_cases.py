"""A database with one table of things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.storage.database import Database
    from aioc_opa.storage.migrations import Dialect


def first(_: Dialect) -> Sequence[str]:
    return ["CREATE TABLE things (name TEXT PRIMARY KEY)"]


def names(database: Database) -> list[str]:
    with database.begin(read_only=True) as connection:
        return list(connection.execute(text("SELECT name FROM things ORDER BY name")).scalars())


def add(database: Database, name: str) -> None:
    with database.begin() as connection:
        connection.execute(text("INSERT INTO things (name) VALUES (:name)"), {"name": name})
