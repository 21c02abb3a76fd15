"""A vault, and databases that several processes can open."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.torture.sizes import FULL
from tests.torture.vault import found_vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def vault_folder(tmp_path: Path) -> Path:
    """What the processes of one test share."""
    return found_vault(tmp_path / "vault")


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "approvals.db")
    return str(request.getfixturevalue("postgres_schema_url"))


@pytest.fixture
def report(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[[str, int, float], None]:
    """Says what a full run measured."""

    def say(what: str, count: int, began: float) -> None:
        if FULL:
            seconds = time.perf_counter() - began
            line = f"{request.node.name}: {count} {what} in {seconds:.0f} s, {seconds / count * 1000:.1f} ms each"
            with capsys.disabled():
                sys.stdout.write(f"\n{line}\n")

    return say
