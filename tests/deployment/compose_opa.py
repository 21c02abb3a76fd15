"""A real `opa` with the arguments of a service of docker-compose.yml.

What is replaced is what a container would map: the address inside it, and the folder that is mounted.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.opa_process import free_port

if TYPE_CHECKING:
    from pathlib import Path


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
