"""docker-compose.yml, and the server that it describes."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.deployment.closed_opa import WAYS, ClosedOpa, certificates
from tests.deployment.compose_opa import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture(scope="module")
def compose(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((repository / "docker-compose.yml").read_text())
    return found


@pytest.fixture(scope="module")
def service(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]["opa"]
    return found


@pytest.fixture
def server(opa_binary: Path, service: dict[str, Any], repository: Path, tmp_path: Path) -> Iterator[Server]:
    policies = tmp_path / "rego"
    shutil.copytree(repository / "rego", policies)
    # What must not be read: it would not even load.
    for name in ("broken_test.rego", "samples/broken.rego", "samples/data.json", ".hidden/broken.rego", "notes.json"):
        (policies / name).parent.mkdir(exist_ok=True)
        (policies / name).write_text("{ this is neither Rego nor JSON")
    server = Server(opa_binary, service, policies, tmp_path / "log")
    try:
        server.up()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Certificates (with their keys), by who has them."""
    return certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="package", params=WAYS)
def closed(
    request: pytest.FixtureRequest,
    opa_binary: Path,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    files: Mapping[str, Path],
) -> Iterator[ClosedOpa]:
    """An OPA that knows its callers, one way to it after the other."""
    made = ClosedOpa(request.param, opa_binary, tmp_path_factory.mktemp("o"), repository / "rego", files)
    with made.opa:
        yield made
