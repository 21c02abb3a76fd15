"""The same comparison on the airline pack and the whole library, with one recorded booking."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa import EmbeddedEngine, OpaServerEngine, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.engines.protocol import EngineAnswer
from bench.contenders import TARGET
from bench.latency import Latency, measure, timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def recorded_booking(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recorded booking that policy allows, and its tool."""
    folder = root / "examples" / "airline"
    allowed = {
        line["id"]
        for line in map(json.loads, (folder / "expected.jsonl").read_text().splitlines())
        if line["decision"] == "allow"
    }
    calls = map(json.loads, (folder / "calls.jsonl").read_text().splitlines())
    call = next(c for c in calls if c["toolName"] == "book_reservation" and c["id"] in allowed)
    tool = next(t for t in json.loads((folder / "tools.json").read_text()) if t["name"] == "book_reservation")
    return call, tool


def guarded(engine: Any, call: dict[str, Any], tool: dict[str, Any], expected: str = "allowed") -> Callable[[], None]:
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    guard.register_json_schema(tool["name"], tool["inputSchema"], lambda arguments: arguments)
    context = RunContext(run_id=call["runContext"]["runId"], context=call["runContext"]["context"])
    options = {"agent_name": call["agentName"], "run_context": context, "turn": call["turn"]}

    def ask() -> None:
        outcome = guard.authorize(call["toolName"], call["rawArguments"], **options)
        if outcome.code != expected:
            raise SystemExit(f"bench: the recorded booking gave {outcome.code}")

    return ask


def question(call: dict[str, Any], tool: dict[str, Any]) -> bytes:
    class Capture:
        name = "capture"
        body = b""

        def evaluate(self, _path: object, body: bytes, _deadline: object) -> EngineAnswer:
            self.body = body
            raise RuntimeError

        def close(self) -> None:
            return None

    capture = Capture()
    guarded(capture, call, tool, expected="policy_unavailable")()
    return capture.body


def measure_airline(root: Path, port: int) -> list[Latency]:
    """http.client, guard over TCP, guard on the embedded engine."""
    import http.client  # noqa: PLC0415 - beside its only use

    call, tool = recorded_booking(root)
    body = question(call, tool)
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def stdlib() -> None:
        connection.request("POST", TARGET, body, {"Content-Type": "application/json"})
        if b'"decision":"allow"' not in connection.getresponse().read():
            raise SystemExit("bench: the recorded booking is not allowed")

    asks = {
        "http.client": stdlib,
        "guard.authorize, TCP": guarded(OpaServerEngine(f"http://127.0.0.1:{port}"), call, tool),
        "guard.authorize, embedded": guarded(EmbeddedEngine(root / "rego"), call, tool),
    }
    return measure({name: lambda repeat, ask=ask: timed(ask, repeat) for name, ask in asks.items()})
