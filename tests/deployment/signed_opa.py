"""The profile `bundles` of docker-compose.yml as plain processes: a signed bundle, a server of static files, and a real `opa` with the very arguments and the very configuration (deploy/opa/opa.json).

What is replaced is what containers would map: addresses, mounted files, and how long OPA waits between two polls.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import requests

from tests.opa.bundle_server import BundleServer, signing_key
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECONDS = 30.0


class SignedOpa:
    """Both servers. `start` waits until OPA has its bundle.

    Args:
        repository: where rego/ and deploy/ are.
        folder: an empty one.
        binary: the `opa`.
        service: of docker-compose.yml.
        prepare: make its files with deploy/prepare, lint and all; else the same, without asking what it is.
    """

    def __init__(
        self, repository: Path, folder: Path, binary: Path, service: Mapping[str, Any], *, prepare: bool = False
    ) -> None:
        self.folder = folder
        self.binary = binary
        for name in ("rego", "deploy"):
            shutil.copytree(repository / name, folder / name, ignore=shutil.ignore_patterns("run"))
        self.run = folder / "deploy" / "run"
        if prepare:
            self._prepare()
        else:
            (self.run / "bundles").mkdir(parents=True)
            for who in ("guard", "operator"):
                (self.run / f"{who}-token").write_text(f"token-of-the-{who}")
            private, public = signing_key(self.run)
            private.replace(self.run / "signing.pem")
            public.replace(self.run / "publisher.pub.pem")
            self.publish(1)
        self.bundles = BundleServer(self.run / "bundles").start()
        self.config = folder / "opa.json"
        text = (repository / "deploy" / "opa" / "opa.json").read_text()
        document = json.loads(
            text.replace("http://bundles:8080", f"http://127.0.0.1:{self.bundles.port}").replace(
                "/var/opa", str(self.run / "persisted")
            )
        )
        document["bundles"]["tools"]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        self.config.write_text(json.dumps(document))
        command = list(service["command"])
        assert command[:3] == ["run", "--server", "--addr=0.0.0.0:8181"]
        mapped = {"/etc/opa/opa.json": self.config, "/run/secrets/publisher.pub.pem": self.run / "publisher.pub.pem"}
        arguments = []
        for argument in command[3:]:
            for inside, outside in mapped.items():
                argument = argument.replace(inside, str(outside))  # noqa: PLW2901 - one after the other
            arguments.append(argument)
        self.opa = OpaProcess(binary, folder, arguments=arguments)

    def _prepare(self) -> None:
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "opa").symlink_to(self.binary)
        path = os.pathsep.join((str(tools), str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, "PATH": path, "AIOC_OPA_BIN": str(self.binary)}
        subprocess.run([self.folder / "deploy" / "prepare"], env=environment, capture_output=True, check=True)

    def publish(self, counter: int, key: Path | None = None) -> None:
        """Put a bundle with this counter, signed with the publisher's key or with this one."""
        policy = self.folder / "policy"
        if not policy.exists():
            shutil.copytree(
                self.folder / "rego", policy, ignore=shutil.ignore_patterns("*_test.rego", "samples", "*.md")
            )
            callers = shutil.copytree(self.folder / "deploy" / "opa" / "callers", policy / "system" / "callers")
            (callers / "callers_test.rego").unlink()
            (callers / "tokens").mkdir()
            digests = {
                f"{who}s": [hashlib.sha256((self.run / f"{who}-token").read_bytes()).hexdigest()]
                for who in ("guard", "operator")
            }
            (callers / "tokens" / "data.json").write_text(json.dumps(digests))
        made = self.folder / "made.tar.gz"
        command = [self.binary, "build", "--bundle", policy, "--revision", f"{counter}-{'0' * 64}", "--output", made]
        subprocess.run(
            [*command, "--signing-key", key or self.run / "signing.pem", "--signing-alg", "RS256"], check=True
        )
        made.replace(self.run / "bundles" / "tools.tar.gz")

    def ask(self, who: str | None, method: str, target: str, body: object = None) -> requests.Response:
        headers = {} if who is None else {"Authorization": f"Bearer {(self.run / f'{who}-token').read_text()}"}
        return requests.request(method, self.opa.url + target, json=body, headers=headers, timeout=30)

    def bundle(self) -> dict[str, Any]:
        """The status of the bundle."""
        found: dict[str, Any] = self.ask("guard", "GET", "/v1/status").json()["result"]["bundles"]["tools"]
        return found

    def metrics(self) -> str:
        return self.ask("operator", "GET", "/metrics").text

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < end, self.opa.log()[-2000:]
            time.sleep(0.05)

    def is_ready(self) -> bool:
        return self.ask(None, "GET", "/health?bundles").status_code == 200

    def start(self) -> Self:
        self.opa.start()
        self.until(self.is_ready)
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.opa.stop()
        self.bundles.stop()
