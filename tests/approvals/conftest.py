"""Stores as fixtures: every test of the contract runs on all three."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from aioc_opa import EmbeddedEngine, LocalOpaEngine
from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.storage.database import Database
from tests.approvals.desk import Desk, write_desk_policy
from tests.approvals.forger import Forger
from tests.approvals.store_cases import MemoryCase, SqlCase
from tests.approvals.treasury import Treasury
from tests.postgres import own_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import StoreCase

_TABLES = (
    "aioc_approval_access", "aioc_call_claims", "aioc_effect_ends", "aioc_approval_consumptions",
    "aioc_approval_endings", "aioc_approval_votes", "aioc_effect_intents", "aioc_approvals",
)  # fmt: skip
"""Those that refer to others first."""


def _sql_target(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return str(tmp_path / "approvals.db")
    return str(request.getfixturevalue("postgres_schema_url"))


@pytest.fixture(scope="session")
def emptied_approvals(postgres_url: str) -> Iterator[Callable[[], str]]:
    """Gives the address of one schema with the tables of approvals, emptied: making them takes longer than most tests."""
    with own_schema(postgres_url) as url, psycopg.connect(url, autocommit=True) as owner:
        SqlApprovalStore(Database.open(url)).close()
        owner.execute("SET lock_timeout = '10s'")

        def emptied() -> str:
            with owner.transaction():
                for table in _TABLES:
                    owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                    owner.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                    owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            return url

        yield emptied


def _case_target(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return str(tmp_path / "approvals.db")
    emptied: Callable[[], str] = request.getfixturevalue("emptied_approvals")
    return emptied()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreCase]:
    """Each store, with its owner's tools."""
    if request.param == "memory":
        with closing(MemoryApprovalStore()) as memory:
            yield MemoryCase(memory)
    else:
        target = _case_target(request.param, request, tmp_path)
        with closing(SqlApprovalStore(Database.open(target))) as store:
            yield SqlCase(store, target)


@pytest.fixture
def store(case: StoreCase) -> ApprovalStore:
    """Each store."""
    return case.store


@pytest.fixture(params=["sqlite", "postgresql"])
def sql_target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty database of each kind."""
    return _sql_target(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def sql_case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlCase]:
    """Each store in SQL; what a test does to its tables, other than to their rows, it undoes."""
    target = _case_target(request.param, request, tmp_path)
    with closing(SqlApprovalStore(Database.open(target))) as store:
        yield SqlCase(store, target)


@pytest.fixture(scope="session")
def treasury_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the treasury's policy."""
    return write_desk_policy(tmp_path_factory.mktemp("treasury") / "policy")


@pytest.fixture(scope="session")
def treasury_engines(
    opa_binary: Path, treasury_policy: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Engine]]:
    """The treasury's policy and a stricter one, on a real OPA and embedded."""
    policy = treasury_policy
    stricter = write_desk_policy(tmp_path_factory.mktemp("stricter") / "policy", stricter=True)
    with (
        LocalOpaEngine(policy, opa_binary=opa_binary) as opa,
        LocalOpaEngine(stricter, opa_binary=opa_binary) as stricter_opa,
    ):
        yield {
            "opa": opa,
            "opa-stricter": stricter_opa,
            "embedded": EmbeddedEngine(policy),
            "embedded-stricter": EmbeddedEngine(stricter),
        }


@pytest.fixture(params=["opa", "embedded"])
def engine_name(request: pytest.FixtureRequest) -> str:
    """Each engine."""
    return str(request.param)


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of guard."""
    return str(request.param)


@pytest.fixture
def sqlite_case(tmp_path: Path) -> Iterator[SqlCase]:
    """The default store alone."""
    target = str(tmp_path / "approvals.db")
    with closing(SqlApprovalStore(Database.open(target))) as store:
        yield SqlCase(store, target)


@pytest.fixture
def treasury(sqlite_case: SqlCase, treasury_engines: dict[str, Engine]) -> Treasury:
    """A treasury over SQLite, judged in process."""
    return Treasury(engine=treasury_engines["embedded"], store=sqlite_case.store)


@pytest.fixture
def desk(treasury: Treasury, kind: str) -> Desk:
    """A guard of it, of each kind."""
    return Desk(treasury, kind)


@pytest.fixture
def forger(sql_case: SqlCase, treasury_engines: dict[str, Engine]) -> Forger:
    """Somebody who can write to the database."""
    return Forger(sql_case, treasury_engines["embedded"])
