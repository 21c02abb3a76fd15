"""What an audit trail costs a decision, in each mode and sink: a guard with one beside a guard without, in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioc_opa import OpaServerEngine, ToolGuard
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from bench.call import OPTIONS, RAW, register
from bench.contenders import ANY, stdlib_http_client
from bench.latency import BASE, Latency, measure, timed

if TYPE_CHECKING:
    from collections.abc import Callable

WITHOUT = "guard.authorize, no audit"
BEST_EFFORT = "best effort, JSON Lines"


def _guard(port: int, trail: AuditTrail | None) -> Callable[[], None]:
    guard = ToolGuard(OpaServerEngine(f"http://127.0.0.1:{port}"), revision_gate=ANY, audit=trail)
    register(guard)

    def ask() -> None:
        if guard.authorize("order", RAW, **OPTIONS).code != "allowed":
            raise SystemExit("bench: a contender was not allowed; the numbers would mean nothing")

    return ask


def measure_audit(port: int, body: bytes) -> list[Latency]:
    """Ratios to `http.client`, as in the other tables. One event a decision; every event must have been written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sinks: dict[str, tuple[Any, Any]] = {
            BEST_EFFORT: (JsonLinesSink(folder / "a"), "best_effort"),
            "best effort, SQLite": (SqlSink(folder / "a.db"), "best_effort"),
            "required, JSON Lines": (JsonLinesSink(folder / "b"), "required"),
            "required, SQLite": (SqlSink(folder / "b.db"), "required"),
        }
        key = AuditKey.generate()
        trails = {title: AuditTrail(sink, writer="bench", key=key, mode=mode) for title, (sink, mode) in sinks.items()}
        asks = {BASE: stdlib_http_client(port, body), WITHOUT: _guard(port, None)}
        asks |= {title: _guard(port, trail) for title, trail in trails.items()}
        rows = measure({title: (lambda repeat, ask=ask: timed(ask, repeat)) for title, ask in asks.items()})
        for trail in trails.values():
            if not trail.close(60) or trail.counts.dropped:
                raise SystemExit("bench: events were dropped; the numbers would mean nothing")
    return rows
