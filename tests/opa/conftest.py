"""A publisher of bundles and a server for them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.opa.bundle_server import BundleServer, signing_key
from tests.opa.bundle_server_cases import Publisher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Publisher:
    folder = tmp_path_factory.mktemp("publisher")
    policy = folder / "policy"
    shutil.copytree(ROOT / "rego" / "aioc", policy / "aioc", ignore=shutil.ignore_patterns("*_test.rego", "samples"))
    return Publisher(folder, policy, opa_binary, *signing_key(folder))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[BundleServer]:
    with BundleServer(tmp_path / "served") as server:
        yield server
