"""Policies that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packs.bundle_diff_cases import (
    Policies,
)

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.packs.bundle_parsed import ParsedBundle


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Policies:
    return Policies(tmp_path_factory.mktemp("diff"), opa_binary)


@pytest.fixture(scope="module")
def before(policies: Policies) -> ParsedBundle:
    return policies.parsed()
