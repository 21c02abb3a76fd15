"""The airline pack alone, on a real OPA server and on regorus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.opa_process import OpaProcess
from tests.packs.airline.engines import OpaPack, PackEngine, RegorusPack, stage
from tests.packs.airline.schemas import Schemas

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def staged(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage(repository, tmp_path_factory.mktemp("airline") / "policy")


@pytest.fixture(scope="session")
def on_opa(opa_binary: Path, staged: Path) -> Iterator[PackEngine]:
    with OpaProcess(opa_binary, staged.parent, paths=[staged]) as server:
        pack = OpaPack(server)
        yield pack
        pack.close()


@pytest.fixture(scope="session")
def on_regorus(staged: Path) -> PackEngine:
    return RegorusPack(staged)


@pytest.fixture(params=["opa", "regorus"])
def pack(request: pytest.FixtureRequest) -> PackEngine:
    engine: PackEngine = request.getfixturevalue(f"on_{request.param}")
    return engine


@pytest.fixture(scope="session")
def recorded(repository: Path) -> list[dict[str, Any]]:
    lines = (repository / "examples/airline/calls.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def expected(repository: Path) -> list[dict[str, Any]]:
    lines = (repository / "examples/airline/expected.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def manifest(repository: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((repository / "rego/aioc/packs/airline/data.json").read_text())["manifest"]
    return document


@pytest.fixture(scope="session")
def schemas(repository: Path, manifest: dict[str, Any]) -> Schemas:
    return Schemas(repository, manifest)
