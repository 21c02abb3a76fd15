"""Fixtures that every room shares. A missing OPA fails the suite: a skip would be a lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from tests.postgres import postgres_schema_url, postgres_url

__all__ = ["postgres_schema_url", "postgres_url"]  # fixtures, for every folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.engines.protocol import Engine

ROOT = Path(__file__).resolve().parent.parent

# How fast this machine is at the moment is no fact about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def repository() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def opa_binary() -> Path:
    """The real `opa` of the pinned version that `scripts/find-opa` found."""
    pinned = (ROOT / ".opa-version").read_text().strip()
    path = Path(os.environ.get("AIOC_OPA_BIN") or ROOT / ".opa" / pinned / "opa")
    if not path.is_file():
        pytest.fail(f"no opa at {path}: run `make test` (or scripts/find-opa), or set AIOC_OPA_BIN", pytrace=False)
    return path


@pytest.fixture(scope="session")
def rfc0015_engines(opa_binary: Path) -> Iterator[dict[str, Engine]]:
    """The small policy of `tests/policies/rfc0015` on a real OPA server and on the embedded engine."""
    policy = ROOT / "tests" / "policies" / "rfc0015"
    with LocalOpaEngine(policy, opa_binary=opa_binary) as opa:
        yield {"opa": opa, "embedded": EmbeddedEngine(policy)}


@pytest.fixture(params=["opa", "embedded"])
def rfc0015_engine(request: pytest.FixtureRequest, rfc0015_engines: dict[str, Engine]) -> Engine:
    return rfc0015_engines[request.param]
