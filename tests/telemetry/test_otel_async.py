"""Spans of coroutines, counters of the access gate, and what happens without an SDK, a key or the extra."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace

from aioc_opa import (
    AsyncOpaServerEngine,
    AsyncToolGuard,
    OpaServerEngine,
)
from aioc_opa.access.counters import AUTHORIZATION_DECISIONS, Counters
from aioc_opa.errors import ConfigurationError
from aioc_opa.telemetry.observer import DecisionObserver
from aioc_opa.telemetry.otel import (
    OpenTelemetryCounters,
    OpenTelemetryObserver,
    current_traceparent,
)

if TYPE_CHECKING:
    from tests.opa_process import OpaProcess
from tests.telemetry.otel_cases import CALL, Telemetry, guard_of, raw


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
