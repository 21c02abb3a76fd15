"""A guard with OpenTelemetry, a policy for it, and a collector of what OPA itself traces."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aioc_opa import (
    DecisionPath,
    Principal,
    RunContext,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.telemetry.otel import (
    OpenTelemetryObserver,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

CANARY = "canary-8d1f"
PATH = DecisionPath("t/decision")
POLICY = """package t
import future.keywords.not

amount := input.parsedArguments.amount
echoes := {"kind": input.kind, "requestId": input.requestId, "proposalHash": input.proposalHash}

decision := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []}) if amount < 10
decision := object.union(echoes, {"decision": "deny", "reason": "code_deny", "reasons": ["code_deny"]}) if {
	amount >= 10
	amount < 100
}
decision := object.union(echoes, {"decision": "approval_required", "reason": "code_ask", "reasons": ["code_ask"],
	"approval": {"requirements": [{"code": "code_ask", "approverRoles": ["manager"], "quorum": 1}],
		"separationOfDuties": true, "ttlSeconds": 60}}) if {
	amount >= 100
	amount < 1000
}
handoff := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})
"""


class Telemetry:
    """The SDK with everything kept in memory."""

    def __init__(self) -> None:
        self.spans_kept = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_kept))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader])

    def observer(self, **options: Any) -> OpenTelemetryObserver:
        return OpenTelemetryObserver(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def spans(self) -> list[Any]:
        return list(self.spans_kept.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics] if data else []
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]

    def counted(self, name: str) -> dict[frozenset[tuple[str, Any]], int]:
        return {frozenset((point.attributes or {}).items()): point.value for point in self.points(name)}

    def everything(self) -> str:
        return (
            json.dumps([json.loads(span.to_json()) for span in self.spans()])
            + (self.reader.get_metrics_data() or self).to_json()
        )

    def to_json(self) -> str:
        return ""

    def close(self) -> None:
        self.tracers.shutdown()
        self.meters.shutdown()


class Collector(ThreadingHTTPServer):
    """Takes what OPA exports over OTLP/HTTP, as bytes."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.arrived = threading.Event()
        super().__init__(("127.0.0.1", 0), Collecting)


class Collecting(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.arrived.set()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


def guard_of(engine: Any, telemetry: Any, kind: Any = ToolGuard, **settings: Any) -> Any:
    guard = kind(
        engine,
        revision_gate=UnsafeAnyRevision(),
        tool_path=PATH,
        handoff_path=DecisionPath("t/handoff"),
        result_mode="tool_result",
        audit_codes=("code_ask",),
        telemetry=telemetry,
        **settings,
    )
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}, "note": {}}, "required": ["amount"]}
    guard.register_json_schema("pay", schema, lambda arguments: arguments["amount"])
    return guard


CALL: Mapping[str, Any] = {
    "agent_name": "support",
    "call_id": "call-1",
    "run_context": RunContext(run_id="run-1", context={"customer": CANARY}),
    "principal": Principal(identity="kim", tenant="acme"),
}


def raw(amount: int) -> str:
    return json.dumps({"amount": amount, "note": CANARY})
