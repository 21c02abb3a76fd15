"""A migrated database of each kind."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.storage.database import Database
from tests.storage.database_cases import first

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "things.db")
    return str(request.getfixturevalue("postgres_schema_url"))


@pytest.fixture
def database(target: str) -> Iterator[Database]:
    with closing(Database.open(target)) as opened:
        opened.migrate("things", [first])
        yield opened
