"""`opa` on a port of this machine, for others to ask."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING

import pytest

from aioc_opa.engines import local_server
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.local_server import LocalOpaServer, loopback_address
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from aioc_opa.packs.policy_folder import LoadedPolicy, load_policy
from tests.engines.local.conftest import children, is_running, until
from tests.opa_process import free_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def loaded(repository: Path) -> LoadedPolicy:
    return load_policy(repository / "rego")


def test_it_answers_and_limits_what_it_answers_and_ends(
    loaded: LoadedPolicy, opa_binary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = f"127.0.0.1:{free_port()}"
    with LocalOpaServer(loaded, address=address, opa_binary=opa_binary) as server:
        assert server.url == f"http://{address}"
        engine = OpaServerEngine(server.url)
        body = b'{"input":{"kind":"tool","requestId":"r-1","proposalHash":"00","rawArguments":"canary-5f3a"}}'
        answer = engine.evaluate(TOOL_POLICY_PATH, body, Deadline.after(30))
        engine.close()
        assert isinstance(answer.result, dict)
        assert answer.result["decision"] == "deny"
        assert answer.policy_revision == json.dumps({"local": loaded.revision}, separators=(",", ":"))
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("GET", "/v1/data")
        assert connection.getresponse().status == 401
        connection.close()
        supervisor = server._process._supervisor
        assert supervisor is not None
        (opa,) = children(supervisor.pid)
    assert not is_running(opa)
    log = capfd.readouterr().err
    assert "Decision Log" in log
    assert "canary-5f3a" not in log


def test_an_address_that_is_taken_is_an_error(loaded: LoadedPolicy, opa_binary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(EngineConfigurationError, match="already"):
            LocalOpaServer(loaded, address=address, opa_binary=opa_binary)


def test_one_that_does_not_start_has_said_why(
    loaded: LoadedPolicy, opa_binary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = LoadedPolicy({**loaded.modules, "x/x.rego": "package x\n\ny if z\n"}, loaded.data, {}, "r")
    with pytest.raises(EngineConfigurationError, match="stands above"):
        LocalOpaServer(broken, address=f"127.0.0.1:{free_port()}", opa_binary=opa_binary)
    assert "x/x.rego:3" in capfd.readouterr().err


@pytest.mark.parametrize("package", ["system.authz", "system.log"])
def test_a_policy_that_does_not_say_what_is_answered_or_logged_is_refused(
    loaded: LoadedPolicy, opa_binary: Path, package: str
) -> None:
    folder = package.replace(".", "/")
    modules = {path: text for path, text in loaded.modules.items() if not path.startswith(folder)}
    with pytest.raises(PolicyLoadError, match=package):
        LocalOpaServer(LoadedPolicy(modules, loaded.data, {}, "r"), opa_binary=opa_binary)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8181", ("127.0.0.1", 8181)),
        ("127.9.9.9:1", ("127.9.9.9", 1)),
        ("localhost:65535", ("127.0.0.1", 65535)),
        ("[::1]:8181", ("::1", 8181)),
    ],
)
def test_addresses_of_this_machine_alone(text: str, address: tuple[str, int]) -> None:
    assert loopback_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0:8181",
        "[::]:8181",
        ":8181",
        "8181",
        "192.0.2.1:8181",
        "opa.example:8181",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:8181/x",
        "http://127.0.0.1:8181",
        "127.0.0.1:8181\n",
        "[127.0.0.1]:8181",
        "1271:8181",
        "",
    ],
)
def test_any_other_address_is_refused(text: str) -> None:
    with pytest.raises(EngineConfigurationError):
        loopback_address(text)


def test_it_listens_on_ipv6_too(loaded: LoadedPolicy, opa_binary: Path) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as probe:
            port = probe.getsockname()[1]
    except OSError:  # a machine without IPv6: then it has to say so
        with pytest.raises(EngineConfigurationError):
            LocalOpaServer(loaded, address="[::1]:18181", opa_binary=opa_binary, start_seconds=5)
        return
    with LocalOpaServer(loaded, address=f"[::1]:{port}", opa_binary=opa_binary) as server:
        assert server.url == f"http://[::1]:{port}"


def test_waiting_ends_when_it_is_closed(loaded: LoadedPolicy, opa_binary: Path) -> None:
    server = LocalOpaServer(loaded, address=f"127.0.0.1:{free_port()}", opa_binary=opa_binary)
    server.close()
    until(server._process._ended.is_set, "the end")
    server.wait()


def test_the_default_address_is_that_of_the_container(repository: Path) -> None:
    assert f'"{local_server.DEFAULT_ADDRESS}:8181"' in (repository / "docker-compose.yml").read_text()
