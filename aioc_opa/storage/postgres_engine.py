"""PostgreSQL as a store for things that must be done once: durable at every commit, and nothing waits for ever.

Imported only when a database is opened: it needs the extra ``postgres``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.postgres_connection import BoundedConnection

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

POOL_SIZE: Final = 5
POOL_OVERFLOW: Final = 15
POOL_SECONDS: Final = 5.0

_SESSION: Final = """
SELECT set_config('lock_timeout', '5s', false),
       set_config('statement_timeout', '10s', false),
       set_config('idle_in_transaction_session_timeout', '15s', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END,
                  false),
       current_setting('fsync')
"""

# libpq's own limits: a server that is gone is noticed although nothing is sent
# (https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
_CONNECT: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "target_session_attrs": "read-write",
    "application_name": "aioc-opa",
}


def postgres_engine(url: URL) -> Engine:
    """An engine whose connections are tried before they are used, so that it survives a restart of the server."""
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        pool_timeout=POOL_SECONDS,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={name: value for name, value in _CONNECT.items() if name not in url.query},
    )
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "connect", _set_up)
    return engine


def _connect(_dialect: object, _record: object, arguments: Any, options: Any) -> BoundedConnection:
    return BoundedConnection.connect(*arguments, **options)


def _set_up(connection: Any, _record: object) -> None:
    *_, fsync = connection.execute(_SESSION).fetchone()
    connection.commit()
    if fsync != "on":
        raise ApprovalStoreError("this PostgreSQL runs with fsync off: commits can be lost, and a grant used twice")
