"""SQLite as a store for things that must be done once: WAL, durable at every commit, one connection a process.

Imported only when a database is opened: it needs the extra ``approvals``.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, create_engine, event
from sqlalchemy.pool import QueuePool

from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.local_filesystem import refused_file_system

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

BUSY_SECONDS: Final = 5.0
"""How long a step waits for another one, of this process or of another."""

_SETTINGS: Final = (
    # In WAL mode FULL syncs the log at each commit; NORMAL could lose the last ones (https://sqlite.org/pragma.html).
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # What is erased is overwritten, and a schema that somebody has planted runs no functions of ours.
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
)


def sqlite_engine(path: Path) -> Engine:
    """An engine with one connection at most; the caller lets one thread at a time use it.

    Args:
        path: exactly the name of the file; a symbolic link is followed once, now.

    Raises:
        ApprovalStoreError: the folder is missing or on a network file system, or the file can be read by others.
    """
    real = _prepare_file(path)
    engine = create_engine(
        # Not as text: SQLAlchemy would read `%41` in it as `A`, and everything after `?` as parameters.
        URL.create("sqlite", database=str(real)),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_SECONDS},
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_file(link: Path) -> Path:
    """Make the file for its owner alone, without ever opening one that exists; gives it without symbolic links.

    SQLite keeps its log and its locks beside the real file, so that is where the file system counts.

    Closing any descriptor of a database drops all locks that this process has on it
    (https://sqlite.org/howtocorrupt.html, 2.2), so the new file gets its name only once it is closed.
    """
    try:
        path = link.resolve()
        # The file can be a mount of its own.
        foreign = refused_file_system(path.parent) or refused_file_system(path)
        if foreign is not None:
            raise ApprovalStoreError(
                f"SQLite needs a local file system and this file is on {foreign!r}: use PostgreSQL to share a store"
            )
        if not path.exists():
            new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                os.link(new, path)
            except FileExistsError:  # another process was quicker, and made it in the same way
                pass
            finally:
                new.unlink()
        if path.stat().st_mode & 0o077:
            raise ApprovalStoreError("the database holds arguments and others can read it: set its mode to 600")
    except (OSError, RuntimeError) as problem:  # RuntimeError: links that lead in a circle (Python 3.11 and 3.12)
        raise ApprovalStoreError(f"the database cannot be made or seen: {type(problem).__name__}") from problem
    return path


def _set_up(connection: Any, _record: object) -> None:
    for statement in _SETTINGS:
        connection.execute(statement)
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != ("wal",):
        raise ApprovalStoreError("SQLite refuses write-ahead logging on this file system")


def _begin(connection: Connection) -> None:
    # A deferred transaction that turns into a writing one can fail with SQLITE_BUSY at once, whatever the timeout.
    how = connection.get_execution_options().get("aioc_opa_begin", "BEGIN IMMEDIATE")
    if how is not None:
        connection.exec_driver_sql(how)
