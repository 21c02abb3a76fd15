"""Stores as fixtures: every test of the contract runs on all three."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.approvals.sql_store import SqlApprovalStore
from aioc_opa.storage.database import Database
from tests.approvals.store_cases import MemoryCase, SqlCase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.approvals.store import ApprovalStore
    from tests.approvals.store_cases import StoreCase


def _sql_target(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return str(tmp_path / "approvals.db")
    return str(request.getfixturevalue("postgres_schema_url"))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreCase]:
    """Each store, with its owner's tools."""
    if request.param == "memory":
        with closing(MemoryApprovalStore()) as memory:
            yield MemoryCase(memory)
    else:
        target = _sql_target(request.param, request, tmp_path)
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


@pytest.fixture
def sql_case(sql_target: str) -> Iterator[SqlCase]:
    """Each store in SQL."""
    with closing(SqlApprovalStore(Database.open(sql_target))) as store:
        yield SqlCase(store, sql_target)
