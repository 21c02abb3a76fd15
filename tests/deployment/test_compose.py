"""docker-compose.yml: what it says, and a real `opa` with its very arguments (`compose_opa`)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.opa_process import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.deployment.compose_opa import Server

SERVICES = ["opa", "bundles", "opa-signed", "prometheus", "grafana"]


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


def test_every_image_is_pinned_and_opa_to_the_tested_version(compose: dict[str, Any], repository: Path) -> None:
    pinned = (repository / ".opa-version").read_text().strip()
    images = {name: each["image"] for name, each in compose["services"].items()}
    assert images["opa"] == images["opa-signed"] == f"openpolicyagent/opa:{pinned}-static"
    assert all(re.fullmatch(r"[a-z/-]+:v?[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+)?", image) for image in images.values())


@pytest.mark.parametrize("name", SERVICES)
def test_it_runs_with_as_little_as_it_needs(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    assert service["read_only"] is True
    assert service["user"].replace("${AIOC_UID:-", "").split(":")[0] not in {"", "0", "root"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.keys().isdisjoint({"privileged", "cap_add", "devices", "network_mode", "pid", "env_file"})


@pytest.mark.parametrize("name", SERVICES)
def test_only_this_machine_can_reach_it_and_nothing_is_mounted_that_need_not_be(
    compose: dict[str, Any], name: str, repository: Path
) -> None:
    service = compose["services"][name]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    for volume in service["volumes"]:
        assert volume["bind"] == {"create_host_path": False}
        made_by_prepare = volume["source"].startswith("./deploy/run/")
        assert made_by_prepare or (volume["read_only"] and (repository / volume["source"]).exists())


def test_only_the_server_of_rego_starts_without_a_profile(compose: dict[str, Any]) -> None:
    profiles = {name: each.get("profiles") for name, each in compose["services"].items()}
    both = ["bundles", "monitoring"]
    alone = ["monitoring"]
    assert profiles == {"opa": None, "bundles": both, "opa-signed": both, "prometheus": alone, "grafana": alone}


def test_secrets_are_files_that_prepare_makes(compose: dict[str, Any], repository: Path) -> None:
    made = (repository / "deploy" / "prepare").read_text()
    given = {name for each in compose["services"].values() for name in each.get("secrets", [])}
    assert given == set(compose["secrets"])
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./deploy/run/{name}"}
        assert name in made
    assert "deploy/run/" in (repository / ".gitignore").read_text().splitlines()


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
