"""A PostgreSQL whose processes are stopped takes connections and questions, and answers none: nobody waits without end."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import postgres_connection
from aioc_opa.storage.database import Database
from tests.killed_postgres import OwnServer, own_server

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_server_that_hangs_is_an_error_before_and_inside_a_step_and_works_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with own_server() as server:
        target = f"{server.url}{'&' if '?' in server.url else '?'}connect_timeout=2"
        with closing(Database.open(target)) as database:
            before = asked(database)
            with hanging(server, monkeypatch):
                for _ in range(2):  # a connection of the pool, and a new one
                    with pytest.raises(ApprovalStoreError, match="the postgresql database failed"):
                        asked(database)
            assert asked(database) >= before
            with pytest.raises(ApprovalStoreError, match="the postgresql database failed"):
                asked_while_it_stops(database, server, monkeypatch)
            assert asked(database) >= before


def asked(database: Database) -> int:
    with database.begin() as connection:
        return database.now_ms(connection)


def asked_while_it_stops(database: Database, server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with database.begin() as connection, hanging(server, monkeypatch):
        database.now_ms(connection)


@contextmanager
def hanging(server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It answers nothing within the block, in which nobody has to wait for twelve seconds."""
    server.hang()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(postgres_connection, "ANSWER_SECONDS", 0.3)
            yield
    finally:
        server.go_on()
