"""docker-compose.yml: what it says, and a real `opa` with its very arguments.

The one thing replaced is what a container would map: the address inside it, and the folder that is mounted.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from tests.opa_process import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "canary-5f3a91"
DECISION = "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&provenance=true"
QUESTION: dict[str, Any] = {
    "contractVersion": "1",
    "kind": "tool",
    "requestId": "r-1",
    "agentName": "concierge",
    "toolName": "nobody_owns_this",
    "rawArguments": json.dumps({"note": CANARY}),
    "requestedArguments": {"note": CANARY},
    "parsedArguments": {"note": CANARY},
    "argsCanonicalJson": json.dumps({"note": CANARY}),
    "proposalHash": "0" * 64,
    "runContext": {"runId": "run-1", "context": {"customer": CANARY}},
    "turn": 1,
    "principal": {"identity": "alice", "roles": []},
}


@pytest.fixture(scope="module")
def compose(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((repository / "docker-compose.yml").read_text())
    return found


@pytest.fixture(scope="module")
def service(compose: dict[str, Any]) -> dict[str, Any]:
    (service,) = compose["services"].values()
    return service  # type: ignore[no-any-return]  # YAML


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


class Server:
    """A real `opa` with the compose file's arguments."""

    def __init__(self, opa: Path, service: dict[str, Any], policies: Path, log: Path) -> None:
        self.opa = opa
        self.service = service
        self.port = free_port()
        self.log = log
        arguments = [
            argument.replace("0.0.0.0:8181", f"127.0.0.1:{self.port}").replace("/policies", policies.name)
            for argument in service["command"]
        ]
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [opa, *arguments], cwd=policies.parent, env={}, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )

    def up(self) -> None:
        end = time.monotonic() + 60
        while True:
            if self.process.poll() is not None:
                pytest.fail(self.log.read_text())
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return
            except OSError:
                if time.monotonic() >= end:
                    pytest.fail(self.log.read_text())
                time.sleep(0.02)

    def ask(self, method: str, target: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def health_check(self, port: int | None = None) -> int:
        command, program, *arguments = self.service["healthcheck"]["test"]
        assert (command, program) == ("CMD", "/opa")
        arguments = [argument.replace(":8181/", f":{port or self.port}/") for argument in arguments]
        return subprocess.run([self.opa, *arguments], env={}, capture_output=True, check=False).returncode

    def stop(self) -> str:
        self.process.terminate()
        self.process.wait()
        return self.log.read_text()


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


def test_it_decides_and_denies_by_default_and_logs_no_argument(server: Server) -> None:
    status, answer = server.ask("POST", DECISION, {"input": QUESTION})
    assert status == 200
    assert answer["result"]["decision"] == "deny"
    assert answer["result"]["proposalHash"] == QUESTION["proposalHash"]
    for odd in (CANARY, [CANARY], {CANARY: CANARY}, {**QUESTION, "toolName": {"note": CANARY}, "added": CANARY}):
        server.ask("POST", DECISION, {"input": odd})
    server.ask("POST", "/v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&input=" + CANARY, {"input": {}})
    server.ask("GET", f"/v1/data?input={CANARY}")
    log = server.stop()
    events = [json.loads(line) for line in log.splitlines()]
    decisions = [event for event in events if event.get("msg") == "Decision Log"]
    assert len(decisions) == 5
    assert decisions[0]["input"] == {
        name: QUESTION[name]
        for name in (
            "contractVersion",
            "kind",
            "requestId",
            "agentName",
            "toolName",
            "proposalHash",
            "turn",
            "principal",
        )
    } | {"runContext": {"runId": "run-1"}}
    assert decisions[0]["result"]["reason"] == answer["result"]["reason"]
    assert CANARY not in log


def test_it_decides_on_access_and_logs_who_approved_and_nothing_else(server: Server) -> None:
    request = {"identity": "alice", "toolName": "nobody_owns_this", "deadlineSeconds": 5.0, "resourceBudget": 1}
    asked = {"contractVersion": "1", "kind": "access", "requestId": "r-2", "requestDigest": "0" * 64}
    target = DECISION.replace("tool_policy", "tool_access")
    status, answer = server.ask("POST", target, {"input": {**asked, "request": {**request, "arguments": CANARY}}})
    assert (status, answer["result"]["decision"]) == (200, "deny")
    echoes = {key: answer["result"][key] for key in ("kind", "requestId", "requestDigest")}
    assert echoes.items() <= asked.items()
    for below in ("", "/table", "_rules", "_rules/loaded"):
        assert server.ask("POST", target.replace("/decision", below), {"input": {}})[0] == 401
    vote = {"personId": "ann", "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}
    approval = {"id": "apr_1", "requestedBy": "alice", "requesters": ["kim"], "votes": [{**vote, "reason": CANARY}]}
    server.ask("POST", DECISION, {"input": {**QUESTION, "approval": approval}})
    log = server.stop()
    events = [json.loads(line) for line in log.splitlines()]
    access, tool = (event for event in events if event.get("msg") == "Decision Log")
    assert access["input"] == {**asked, "request": request}
    assert access["result"] == answer["result"]
    assert tool["input"]["approval"] == {**approval, "votes": [vote]}
    assert CANARY not in log


def test_an_evaluation_error_does_not_bring_an_argument_into_the_log(
    opa_binary: Path, service: dict[str, Any], repository: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "policies-under-test"
    shutil.copytree(repository / "rego" / "system", policies / "system")
    (policies / "aioc" / "tool_policy").mkdir(parents=True)
    (policies / "aioc" / "tool_policy" / "p.rego").write_text(
        "package aioc.tool_policy\n\ndecision := to_number(input.parsedArguments.note)\n"
    )
    server = Server(opa_binary, service, policies, tmp_path / "log")
    try:
        server.up()
        status, answer = server.ask("POST", DECISION, {"input": QUESTION})
    finally:
        log = server.stop()
    assert status == 500
    assert CANARY in json.dumps(answer)  # OPA does quote it, to the caller
    assert CANARY not in log


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
