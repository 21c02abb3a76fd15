"""docker-compose.yml: what it says, and a real `opa` with its very arguments (`compose_opa`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.opa_process import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.deployment.compose_opa import Server


def test_it_is_a_valid_compose_file(compose: dict[str, Any], repository: Path) -> None:
    schema = json.loads((repository / "tests" / "vectors" / "compose" / "compose-spec.json").read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema).validate(compose)
    compose["services"]["opa"]["read-only"] = True
    try:
        with pytest.raises(jsonschema.ValidationError):
            validator(schema).validate(compose)
    finally:
        del compose["services"]["opa"]["read-only"]


def test_the_image_is_the_pinned_version(service: dict[str, Any], repository: Path) -> None:
    pinned = (repository / ".opa-version").read_text().strip()
    assert service["image"] == f"openpolicyagent/opa:{pinned}-static"


def test_it_runs_with_as_little_as_it_needs(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["user"].split(":")[0] not in {"", "0", "root"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.keys().isdisjoint(
        {"privileged", "cap_add", "devices", "network_mode", "pid", "environment", "env_file"}
    )


def test_only_this_machine_can_reach_it(service: dict[str, Any]) -> None:
    (port,) = service["ports"]
    assert port == "127.0.0.1:8181:8181"
    assert "--addr=0.0.0.0:8181" in service["command"]


def test_the_policies_are_mounted_to_be_read(service: dict[str, Any], repository: Path) -> None:
    (volume,) = service["volumes"]
    assert (volume["type"], volume["read_only"], volume["source"]) == ("bind", True, "./rego")
    assert (repository / volume["source"]).is_dir()
    assert service["command"][-2:] == ["--bundle", volume["target"]]


def test_the_health_check_tells_up_from_down(server: Server) -> None:
    assert server.health_check() == 0
    assert server.health_check(free_port()) != 0


def test_the_health_check_is_not_fooled_by_an_answer_that_is_no_ok(server: Server) -> None:
    server.service = {
        "healthcheck": {"test": [part.replace("/health", "/metrics") for part in server.service["healthcheck"]["test"]]}
    }
    assert server.health_check() != 0


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/v1/data"), ("GET", "/v1/policies"), ("GET", "/v1/config"), ("PUT", "/v1/data/x"), ("POST", "/v1/query")],
)
def test_its_api_is_closed_but_for_the_decisions(server: Server, method: str, target: str) -> None:
    assert server.ask(method, target, {})[0] == 401
