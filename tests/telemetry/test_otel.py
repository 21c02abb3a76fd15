"""OpenTelemetry against the real SDK's in-memory exporters, with a real OPA that gets the trace context."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aioc_opa import (
    AsyncOpaServerEngine,
    AsyncToolGuard,
    DecisionPath,
    OpaServerEngine,
    Principal,
    RunContext,
    ToolArgumentsValidationError,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.access.counters import AUTHORIZATION_DECISIONS, Counters
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.errors import ConfigurationError
from aioc_opa.telemetry.observer import DecisionObserver
from aioc_opa.telemetry.otel import (
    DECISIONS,
    DURATION,
    OpenTelemetryCounters,
    OpenTelemetryObserver,
    current_traceparent,
)
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CANARY = "canary-8d1f"
KEY = b"k" * 32
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


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.close()


class Collector(ThreadingHTTPServer):
    """Takes what OPA exports over OTLP/HTTP, as bytes."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.arrived = threading.Event()
        super().__init__(("127.0.0.1", 0), _Collecting)


class _Collecting(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.arrived.set()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def opa(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[OpaProcess]:
    settings = {
        "decision_logs.console": "true",
        "distributed_tracing.type": "http",
        "distributed_tracing.address": f"127.0.0.1:{collector.server_address[1]}",
        "distributed_tracing.sample_percentage": "100",
    }
    arguments = [f"--set={name}={value}" for name, value in settings.items()]
    folder = tmp_path_factory.mktemp("opa")
    with OpaProcess(opa_binary, folder, policies={"t.rego": POLICY}, arguments=arguments) as process:
        yield process


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


def test_a_span_says_what_was_decided_and_nothing_of_the_arguments(opa: OpaProcess, telemetry: Telemetry) -> None:
    with OpaServerEngine(opa.url, traceparent=current_traceparent) as engine:
        guard = guard_of(engine, telemetry.observer(tenant_keys={"acme": KEY}))
        outcomes = [guard.authorize("pay", raw(amount), **CALL) for amount in (1, 10, 100, 1000)]
        assert guard.call("pay", raw(1), **CALL) == 1
    allowed, denied, held, broken, _ = telemetry.spans()
    assert {span.name for span in telemetry.spans()} == {"authorize_tool pay"}
    assert dict(allowed.attributes) == {
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.agent.name": "support",
        "aioc_opa.run.id": "run-1",
        "aioc_opa.request.id": outcomes[0].question.request_id,
        "aioc_opa.decision": "allow",
        "aioc_opa.reason": "allowed",
        "aioc_opa.engine": outcomes[0].engine,
        "aioc_opa.opa.decision_id": outcomes[0].decision_id,
        "aioc_opa.proposal_ref": proposal_ref(KEY, outcomes[0].question.proposal_hash),
    }
    assert (denied.attributes["aioc_opa.decision"], denied.attributes["aioc_opa.reason"]) == ("deny", "undeclared")
    assert held.attributes["aioc_opa.decision"] == "approval_required"
    assert held.attributes["aioc_opa.reasons"] == ("code_ask",)
    # A deny is an answer; only what is broken is an error.
    assert [span.status.status_code.name for span in (allowed, denied, held, broken)] == ["UNSET"] * 3 + ["ERROR"]
    assert broken.attributes["error.type"] == "policy_undefined"
    everything = telemetry.everything()
    assert CANARY not in everything
    for outcome in outcomes:
        assert outcome.question.proposal_hash not in everything


def test_without_a_tenants_key_there_is_no_reference(opa: OpaProcess, telemetry: Telemetry) -> None:
    with OpaServerEngine(opa.url) as engine:
        guard_of(engine, telemetry.observer(tenant_keys={"other": KEY})).authorize("pay", raw(1), **CALL)
    (span,) = telemetry.spans()
    assert "aioc_opa.proposal_ref" not in span.attributes


def test_decisions_are_counted_and_timed_under_bounded_labels(opa: OpaProcess, telemetry: Telemetry) -> None:
    with OpaServerEngine(opa.url) as engine:
        guard = guard_of(engine, telemetry.observer())
        for amount in (1, 2, 10):
            guard.authorize("pay", raw(amount), **CALL)
        for name in (CANARY, CANARY + "2"):
            guard.authorize(name, raw(1), **CALL)
        with pytest.raises(ToolArgumentsValidationError):
            guard.authorize("pay", json.dumps({"note": CANARY}), **CALL)
        guard.authorize_handoff("billing", raw(1), from_agent_name="support", run_context=CALL["run_context"])

    def labels(**them: str) -> frozenset[tuple[str, str]]:
        return frozenset(them.items())

    assert telemetry.counted(DECISIONS) == {
        labels(kind="tool", tool="pay", decision="allow", reason="allowed"): 2,
        labels(kind="tool", tool="pay", decision="deny", reason="undeclared"): 1,
        labels(kind="tool", tool="pay", decision="invalid_arguments", reason="invalid_arguments"): 1,
        labels(kind="tool", tool="unregistered", decision="deny", reason="tool_not_registered"): 2,
        labels(kind="handoff", decision="allow", reason="allowed"): 1,
    }
    timed = telemetry.points(DURATION)
    assert sum(point.count for point in timed) == 7
    assert all(point.sum > 0 and point.explicit_bounds[0] == 0.0005 for point in timed)
    handoff = telemetry.spans()[-1]
    assert (handoff.name, handoff.attributes["aioc_opa.handoff.to_agent"]) == ("authorize_handoff", "billing")
    assert CANARY not in telemetry.everything()


def test_opa_gets_the_trace_context_and_its_spans_are_children_of_ours(
    opa: OpaProcess, telemetry: Telemetry, collector: Collector
) -> None:
    tracer = telemetry.tracers.get_tracer("application")
    with OpaServerEngine(opa.url, traceparent=current_traceparent) as engine, tracer.start_as_current_span("run"):
        outcome = guard_of(engine, telemetry.observer()).authorize("pay", raw(1), **CALL)
    decision, run = telemetry.spans()
    assert decision.parent.span_id == run.context.span_id
    trace_id = decision.context.trace_id
    (logged,) = [
        event for event in map(json.loads, opa.log().splitlines()) if event.get("decision_id") == outcome.decision_id
    ]
    assert logged["trace_id"] == f"{trace_id:032x}"
    while not any(
        trace_id.to_bytes(16) in body for body in collector.bodies
    ):  # OPA exports in batches, of a few seconds
        collector.arrived.clear()
        assert collector.arrived.wait(60)
    assert any(decision.context.span_id.to_bytes(8) in body for body in collector.bodies)


async def test_coroutines_have_spans_of_their_own_and_give_the_context_back(
    opa: OpaProcess, telemetry: Telemetry
) -> None:
    engine = AsyncOpaServerEngine(opa.url, traceparent=current_traceparent)
    guard = guard_of(engine, telemetry.observer(), AsyncToolGuard)
    tracer = telemetry.tracers.get_tracer("application")

    async def one(number: int) -> tuple[str, str]:
        with tracer.start_as_current_span(f"run {number}") as run:
            outcome = await guard.authorize("pay", raw(1), **CALL | {"call_id": f"call-{number}"})
            assert trace.get_current_span() is run
            return f"call-{number}", f"{run.get_span_context().trace_id:032x}", outcome.decision_id

    traces = {call: (trace_id, decision) for call, trace_id, decision in await asyncio.gather(*map(one, range(20)))}
    await guard.authorize_handoff("billing", raw(1), from_agent_name="support")
    await engine.aclose()
    logged = {e.get("decision_id"): e.get("trace_id") for e in map(json.loads, opa.log().splitlines())}
    for span in telemetry.spans():
        if span.name == "authorize_tool pay":
            trace_id, decision = traces[span.attributes["gen_ai.tool.call.id"]]
            assert f"{span.context.trace_id:032x}" == trace_id == logged[decision]
    assert not trace.get_current_span().get_span_context().is_valid
    assert current_traceparent() is None


async def test_a_cancelled_decision_ends_its_span(opa: OpaProcess, telemetry: Telemetry) -> None:
    class Endless:
        name = "endless"

        async def evaluate_async(self, *_: object) -> Any:
            await asyncio.Event().wait()

        async def aclose(self) -> None: ...

    guard = guard_of(Endless(), telemetry.observer(), AsyncToolGuard)
    task = asyncio.create_task(guard.authorize("pay", raw(1), **CALL))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (span,) = telemetry.spans()
    assert span.attributes["aioc_opa.decision"] == "interrupted"
    assert span.attributes["aioc_opa.reason"] == "CancelledError"


def test_the_access_gates_counters_become_opentelemetrys(telemetry: Telemetry) -> None:
    counters = OpenTelemetryCounters(telemetry.meters)
    assert isinstance(counters, Counters)
    for decision in ("allow", "deny", "allow"):
        counters.add(AUTHORIZATION_DECISIONS, {"decision": decision})
    assert telemetry.counted(AUTHORIZATION_DECISIONS) == {
        frozenset({("decision", "allow")}): 2,
        frozenset({("decision", "deny")}): 1,
    }


def test_without_an_sdk_the_api_does_nothing_and_decisions_stand(opa: OpaProcess) -> None:
    with OpaServerEngine(opa.url, traceparent=current_traceparent) as engine:
        observer = OpenTelemetryObserver()
        assert isinstance(observer, DecisionObserver)
        assert guard_of(engine, observer).call("pay", raw(1), **CALL) == 1


@pytest.mark.parametrize("keys", [{"acme": b"short"}, {"acme": "text" * 20}])
def test_a_tenants_key_must_be_a_key(keys: Any) -> None:
    with pytest.raises(ConfigurationError, match="32 random bytes"):
        OpenTelemetryObserver(tenant_keys=keys)


def test_without_the_extra_the_error_names_it() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None\nimport aioc_opa.telemetry.observer\nimport aioc_opa.telemetry.otel"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-1].endswith("OpenTelemetry is not installed: pip install 'aioc-opa[otel]'")
