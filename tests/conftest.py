"""Fixtures that every room shares. A missing OPA fails the suite: a skip would be a lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
