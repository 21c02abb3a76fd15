"""Policies made by hand, engines that are closed, and plain HTTP over the engine's socket."""

from __future__ import annotations

import http.client
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.packs.policy_folder import LoadedPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULE = """package aioc.tool_policy

import future.keywords.not

decision := {
	"number": to_number(input.number),
	"limit": data.limits.refund,
	"environment": opa.runtime().env,
}
"""
QUESTION = b'{"input":{"number":"7"}}'
SECONDS = 30.0
"""How long a test waits for what must happen before it says that it did not."""


def policy(module: str = MODULE, *, revision: str = "sha256:00", limit: float = 5) -> LoadedPolicy:
    return LoadedPolicy(
        modules={"aioc/tool_policy/policy.rego": module},
        data={"limits": {"refund": limit}},
        files={},
        revision=revision,
    )


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() >= end:
            pytest.fail(f"it did not happen: {what}")
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(status.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def processes(engine: LocalOpaEngine) -> tuple[int, int]:
    """Process ids of an engine's supervisor and `opa`."""
    supervisor = engine._process._supervisor
    assert supervisor is not None
    (opa,) = children(supervisor.pid)
    return supervisor.pid, opa


def folder(engine: LocalOpaEngine) -> Path:
    return engine._process._folder


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self.path))


def ask(engine: LocalOpaEngine, method: str, target: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = UnixConnection(folder(engine) / "opa.sock")
    try:
        connection.request(method, target, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture
def start(opa_binary: Path) -> Iterator[Callable[..., LocalOpaEngine]]:
    engines: list[LocalOpaEngine] = []

    def start(loaded: LoadedPolicy | Path | str | None = None, **options: Any) -> LocalOpaEngine:
        engine = LocalOpaEngine(loaded or policy(), opa_binary=opa_binary, **options)
        engines.append(engine)
        return engine

    yield start
    for engine in engines:
        engine.close()
