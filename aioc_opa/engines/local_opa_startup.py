"""How a local `opa` is started, how to tell that it is up, and what to say when it does not come up."""

from __future__ import annotations

import http.client
import json
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.engines.local_opa_staging import AUTHZ_DECISION, BUNDLE, SOCKET
from aioc_opa.errors import ConfigurationError, EngineConfigurationError, PolicyLoadError

if TYPE_CHECKING:
    from aioc_opa.engines.local_opa_process import OpaStartError

DEFAULT_START_SECONDS: Final = 30.0
_PROBE_SECONDS: Final = 1.0
_OK: Final = 200
# OPA's words for "what you gave me to load", in what it writes before it ends.
_POLICY_FAULT: Final = re.compile(r"\b(?:load error|initialization error|bundle|rego_\w+)\b")


def arguments() -> list[str]:
    """What `opa` is started with, in its private folder."""
    return [
        "run",
        "--server",
        f"--addr=unix://{SOCKET}",  # relative: nothing in the folder's path can be taken for a part of a URL
        "--unix-socket-perm=600",
        "--authorization=basic",
        f"--set=default_authorization_decision={AUTHZ_DECISION}",
        "--skip-version-check",
        "--log-level=error",
        "--log-format=json",
        "--shutdown-grace-period=1",
        "--bundle",
        BUNDLE,
    ]


def is_healthy(address: Path | tuple[str, int]) -> bool:
    """Whether an OPA at a Unix socket or at a TCP address answers ``GET /health`` with 200."""
    family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PROBE_SECONDS)
        try:
            connection.connect(str(address) if isinstance(address, Path) else address)
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            response = http.client.HTTPResponse(connection)
            response.begin()
        except (OSError, http.client.HTTPException):
            return False
        return response.status == _OK


def start_failure(problem: OpaStartError) -> ConfigurationError:
    """What to tell the operator about an `opa` that did not come up."""
    said = _readable(problem.output)
    if problem.timed_out:
        return EngineConfigurationError(f"the local opa did not answer in time{': ' if said else ''}{said}")
    if _POLICY_FAULT.search(said):
        return PolicyLoadError(f"OPA refuses the policy: {said}")
    return EngineConfigurationError(f"the local opa did not start: {said or 'it wrote nothing'}")


def _readable(output: str) -> str:
    """OPA's own words: staged paths as the policy's, log lines by their message, no usage text, no warnings."""
    lines = []
    for line in output.partition("\nUsage:")[0].splitlines():
        text = line
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                record = {}
            if record.get("level") in {"warning", "info", "debug"}:
                continue
            text = ": ".join(str(record[key]) for key in ("msg", "err") if key in record) or line
        lines.append(re.sub(rf"(^|[\s:]){BUNDLE}/", r"\1", text).removeprefix("error: "))
    return "\n".join(lines).strip()
