"""A canary argument never appears in what a real OPA writes: decision log, status log, error log, panics included."""

from __future__ import annotations

import gzip
import json
import re
import socket
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.deployment.closed_opa import LIMIT, ClosedOpa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CANARY = "canary-71be"
STRICT = "?strict-builtin-errors=true"
TOOL = "/v1/data/aioc/tool_policy/decision" + STRICT
HANDOFF = "/v1/data/aioc/handoff_policy/decision" + STRICT
QUESTION = {"kind": "tool", "requestId": "r", "toolName": "x", "parsedArguments": {"note": CANARY}, "error": CANARY}
WHOLE = json.dumps({"input": QUESTION}).encode()
BIG = json.dumps({"input": CANARY * LIMIT}).encode()
SHOWS_BODIES = "debug"


def bodies() -> dict[str, tuple[bytes, dict[str, str]]]:
    """Bodies that OPA cannot read, by what is wrong with them, and their headers."""
    zipped = {"Content-Encoding": "gzip"}
    return {
        "no JSON": (CANARY.encode(), {}),
        "cut off": (WHOLE[:-2], {}),
        "twice": (WHOLE + WHOLE, {}),
        "a NUL": (WHOLE.replace(b"canary", b"\x00canary"), {}),
        "no UTF-8": (WHOLE.replace(b"canary", b"\xffcanary"), {}),
        "too large": (BIG, {}),
        "too large when unpacked": (gzip.compress(BIG), zipped),
        "not packed": (WHOLE, zipped),
        "packed and cut off": (gzip.compress(WHOLE)[:-9], zipped),
        "no YAML": (f"{CANARY}: [".encode(), {"Content-Type": "application/yaml"}),
        "YAML with a tag": (f"input: !!python/name:{CANARY} {CANARY}".encode(), {"Content-Type": "application/x-yaml"}),
    }


def ask_everything(closed: ClosedOpa) -> list[int]:
    """Every kind of success and of failure that a caller can bring about; the statuses of the evaluations that fail."""
    for body in (
        {"input": QUESTION}, {"input": CANARY}, {"Input": QUESTION}, QUESTION, CANARY, {"input": {"kind": {CANARY: CANARY}}},
    ):  # fmt: skip
        for who in ("guard", "stranger"):
            closed.ask(who, "POST", TOOL, body)
    for raw, headers in bodies().values():
        for who in ("guard", "stranger"):
            with suppress(HTTPException, OSError):  # OPA ends the connection over some of them
                closed.send(who, "POST", TOOL, raw, headers)
    for method in ("PUT", "PATCH", "DELETE", "GET"):
        for target in (
            "/v1/policies/x",
            "/v1/data/x",
            "/v1/query",
            "/v1/compile",
            "/v1/config",
            TOOL + "&explain=full",
        ):
            closed.send("operator", method, target, WHOLE)
    statuses = [
        closed.ask("guard", "POST", HANDOFF, {"input": {"kind": kind, "handoffPayload": {"note": CANARY}}})[0]
        for kind in ("builtin", "conflict")
    ]
    if closed.way == "tcp":
        token = closed.names["guard"]
        for sent in (
            f"{CANARY}\r\n\r\n", f"POST {TOOL} HTTP/9.9\r\n\r\n{CANARY}", f"GET /health HTTP/1.1\r\n{CANARY}\r\n\r\n",
            f"POST {TOOL} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 5000\r\n\r\n{CANARY}",
            f"POST {TOOL} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n\r\n{CANARY}",
        ):  # fmt: skip
            with socket.create_connection(("127.0.0.1", closed.opa.port), timeout=30) as connection:
                connection.sendall(sent.encode())
                connection.shutdown(socket.SHUT_WR)
                with suppress(OSError):
                    connection.recv(1000)
    return statuses


def test_no_argument_reaches_the_log_errors_included(closed: ClosedOpa) -> None:
    assert ask_everything(closed) == [500, 500]
    for target in (f"/v1/data/{CANARY}", f"/v1/{CANARY}", f"{TOOL}&input={CANARY}", f"/v1/query?q={CANARY}"):
        closed.send("guard", "POST", target, WHOLE)
        closed.send("guard", "GET", target, None)
    log = closed.opa.log()
    assert "Decision Log" in log
    assert "Status Log" in log
    assert CANARY not in log
    assert not any(name in log for name in closed.names.values() if not closed.mutual)


def test_the_errors_that_are_kept_out_do_quote_the_argument_to_the_caller(closed: ClosedOpa) -> None:
    """Without the rule that drops events with an error, this text would be in the log."""
    asked = {"input": {"kind": "builtin", "handoffPayload": {"note": CANARY}}}
    status, text = closed.ask("guard", "POST", HANDOFF, asked)
    assert status == 500
    assert CANARY in text


@pytest.mark.parametrize("level", ["info", SHOWS_BODIES])
def test_only_the_level_debug_would_write_bodies_down(
    level: str, opa_binary: Path, repository: Path, tmp_path: Path, files: Mapping[str, Path]
) -> None:
    made = ClosedOpa("tcp", opa_binary, tmp_path, repository / "rego", files, level=level)
    with made.opa:
        assert ask_everything(made) == [500, 500]
        log = made.opa.log()
    assert "Received request" in log
    assert (CANARY in log) is (level == SHOWS_BODIES)


def test_nothing_that_is_shipped_starts_opa_with_the_level_debug(repository: Path) -> None:
    compose = yaml.safe_load((repository / "docker-compose.yml").read_text())
    servers = [each["command"] for each in compose["services"].values() if "openpolicyagent/opa" in each["image"]]
    assert len(servers) == 2
    assert all("--log-level=error" in command for command in servers)
    shipped = [*(repository / "docs").rglob("*.md"), *(repository / "deploy").rglob("*"), repository / "README.md"]
    for file in shipped:
        if file.is_file() and "run" not in file.relative_to(repository).parts:
            for line in file.read_text().splitlines():
                assert not re.search(r"opa run .*--log-level[= ]debug|^\s*- --log-level=debug", line), file
