"""A PostgreSQL whose processes are stopped takes connections and questions, and answers none: nobody waits without end."""

from __future__ import annotations

from contextlib import closing

import pytest

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage import postgres_connection
from aioc_opa.storage.database import Database
from tests.killed_postgres import OwnServer, own_server


def test_a_server_that_hangs_is_an_error_before_and_inside_a_step_and_works_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres_connection, "ANSWER_SECONDS", 0.3)
    with own_server() as server:
        target = f"{server.url}{'&' if '?' in server.url else '?'}connect_timeout=2"
        with closing(Database.open(target)) as database:
            with database.begin() as connection:
                before = database.now_ms(connection)

            server.hang()
            for _ in range(2):  # a connection of the pool, and a new one
                with pytest.raises(ApprovalStoreError, match="OperationalError"), database.begin():
                    pass
            server.go_on()
            with database.begin() as connection:
                assert database.now_ms(connection) >= before

            with pytest.raises(ApprovalStoreError, match="OperationalError"):
                asked_while_it_stops(database, server)
            server.go_on()
            with database.begin() as connection:
                assert database.now_ms(connection) >= before


def asked_while_it_stops(database: Database, server: OwnServer) -> None:
    with database.begin() as connection:
        server.hang()
        database.now_ms(connection)
