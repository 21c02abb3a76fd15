"""Why a PostgreSQL cannot be connected to: the kind of cause and a cure, from real servers, and nothing of the address."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.connection_failures import connection_words
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = ("canary-user", "canary-password", "canary-database", "no-such-host.invalid", "127.0.0.1")


def failure(url: object) -> str:
    text = url if isinstance(url, str) else make_url(str(url)).render_as_string(hide_password=False)
    with closing(Database.open(text)) as database, pytest.raises(ApprovalStoreError) as caught:
        database.version("approvals")
    said = str(caught.value)
    assert not any(secret in said for secret in SECRETS)
    return said


def changed(url: str, **parts: str) -> str:
    return make_url(url).set(**parts).render_as_string(hide_password=False)  # type: ignore[arg-type] # texts


def test_a_real_server_that_has_no_such_database_or_account(postgres_url: str) -> None:
    assert "database missing: " in failure(changed(postgres_url, database="canary-database"))
    assert "authentication: " in failure(changed(postgres_url, username="canary-user", password="canary-password"))


def test_where_nobody_listens_or_no_host_is() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    assert "refused: " in failure(f"postgresql://canary-user:canary-password@127.0.0.1:{port}/canary-database")
    assert "refused: " in failure("postgresql://canary-user@/canary-database?host=/nonexistent")
    assert "host unknown: " in failure("postgresql://canary-user:canary-password@no-such-host.invalid/canary-database")


def test_a_server_that_speaks_no_tls_where_it_is_asked_for() -> None:
    """What a PostgreSQL without certificates answers to SSLRequest: N (protocol 55.2.10)."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def refuse() -> None:
            for _ in range(2):
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    if connection.recv(8):
                        connection.sendall(b"N")
                        connection.recv(1)

        answering = threading.Thread(target=refuse, daemon=True)
        answering.start()
        port = server.getsockname()[1]
        url = f"postgresql://canary-user:canary-password@127.0.0.1:{port}/canary-database?sslmode=require"
        assert "TLS: " in failure(url)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('FATAL:  password authentication failed for user "ann"', "authentication"),
        ("fe_sendauth: no password supplied", "authentication"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "ann", database "d", no encryption', "authentication"),
        ("SSL error: certificate verify failed", "TLS"),
        ('server certificate for "a" does not match host name "b"', "TLS"),
        ('root certificate file "/x" does not exist', "TLS"),
        ("connection timeout expired", "timeout"),
        ("FATAL:  sorry, too many clients already", "full"),
        ("FATAL:  the database system is starting up", "not ready"),
        ("session is read-only", "read-only"),
        ("Verbindungsfehler: Passwort falsch", "no connection"),
        ("", "no connection"),
    ],
    ids=["password", "none", "hba", "verify", "name", "root", "time", "full", "start", "standby", "language", "empty"],
)
def test_what_servers_and_libpq_say_is_sorted_by_cause(text: str, kind: str) -> None:
    said = connection_words(text)
    assert said.startswith((f"{kind}: ", f"{kind},"))
    assert "ann" not in said


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"these are notes, and more of them than a header has" * 40)
    path.chmod(0o600)
    assert "this file is no SQLite database" in failure(str(path))
