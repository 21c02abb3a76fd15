"""Which database a word names: a path, ``sqlite:///PATH`` or ``postgresql://…``. Nothing of it is echoed in errors.

A path is taken as it stands: ``%41`` is no ``A``. A word with ``?`` or ``#`` could mean parameters, and is refused; a
`pathlib.Path` cannot.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from aioc_opa.storage.migrations import Dialect

_SCHEME: Final = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]*)://")
_POSTGRES: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})


def engine_for(target: str | Path) -> tuple[Engine, Dialect]:
    """The engine of the database that `target` names; it connects when it is first used.

    Raises:
        ApprovalStoreError: the target is none of the three, is unfit, or an extra is not installed.
    """
    if isinstance(target, Path):
        return _sqlite(target)
    scheme = _SCHEME.match(target)
    name = "sqlite" if scheme is None else scheme[1].lower()
    if name in _POSTGRES:
        return _postgres(target)
    if name != "sqlite" or (scheme is not None and not target.startswith("sqlite:///")):
        raise ApprovalStoreError("a database is a path, sqlite:///PATH or postgresql://…; this has another scheme")
    if set("?#").intersection(target):
        raise ApprovalStoreError("a SQLite database has no parameters: a file with '?' or '#' is named by a Path")
    return _sqlite(Path(target.removeprefix("sqlite:///")))


def _sqlite(path: Path) -> tuple[Engine, Dialect]:
    if not path.name or str(path).startswith((":memory:", "file:")) or "\0" in str(path):
        raise ApprovalStoreError("a SQLite database needs the plain path of a file; in memory use MemoryApprovalStore")
    try:
        from aioc_opa.storage.sqlite_engine import sqlite_engine  # noqa: PLC0415 - an optional dependency
    except ImportError as missing:
        raise ApprovalStoreError("SQL stores need SQLAlchemy: pip install 'aioc-opa[approvals]'") from missing
    # SQLite follows a relative path again at each connection, also after the process has changed its folder.
    return sqlite_engine(path.absolute()), "sqlite"


def _postgres(target: str) -> tuple[Engine, Dialect]:
    try:
        import psycopg  # noqa: F401, PLC0415 - an optional dependency: is it there?
        from sqlalchemy import make_url  # noqa: PLC0415 - likewise
        from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - likewise

        from aioc_opa.storage.postgres_engine import postgres_engine  # noqa: PLC0415 - likewise
    except ImportError as missing:
        raise ApprovalStoreError("PostgreSQL needs psycopg: pip install 'aioc-opa[postgres]'") from missing
    try:
        url = make_url(target)
    except (ArgumentError, ValueError):
        raise ApprovalStoreError("the PostgreSQL address cannot be read") from None
    return postgres_engine(url), "postgresql"
