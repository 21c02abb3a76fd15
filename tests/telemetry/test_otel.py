"""OpenTelemetry against the real SDK's in-memory exporters, with a real OPA that gets the trace context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from aioc_opa import (
    OpaServerEngine,
    ToolArgumentsValidationError,
)
from aioc_opa.core.audit.proposal_ref import proposal_ref
from aioc_opa.telemetry.otel import (
    DECISIONS,
    DURATION,
    current_traceparent,
)

if TYPE_CHECKING:
    from tests.opa_process import OpaProcess
from tests.telemetry.otel_cases import CALL, CANARY, Collector, Telemetry, guard_of, raw

KEY = b"k" * 32


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
