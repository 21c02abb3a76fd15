"""OpenTelemetry: a span and two metrics a decision, counters of the access gate, and the trace context for OPA.

    guard = ToolGuard(
        OpaServerEngine(url, traceparent=current_traceparent),
        telemetry=OpenTelemetryObserver(),
        access=AccessGate(..., counters=OpenTelemetryCounters()),
        audit_codes=declared_codes(load_policy(...)),
    )

Needs the extra ``otel``: the API alone. An application brings the SDK and its exporters; without them this costs a few
calls that do nothing. Names of agents and tools are those of OpenTelemetry's GenAI conventions
(https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/), the rest is below ``aioc_opa``.

Nothing here has arguments, outputs, credentials, exception texts or the hash of arguments, which can be guessed back to
them. With a tenant's key the span has ``aioc_opa.proposal_ref``, the same reference as the audit trail's.
"""

from __future__ import annotations

import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from aioc_opa.core.audit.proposal_ref import MIN_KEY_BYTES, proposal_ref
from aioc_opa.errors import ConfigurationError

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.trace import SpanKind, StatusCode
except ImportError as _error:
    raise ConfigurationError("OpenTelemetry is not installed: pip install 'aioc-opa[otel]'") from _error

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from aioc_opa.telemetry.observer import ObservedCall, ObservedDecision

SCOPE: Final = "aioc_opa"
DECISIONS: Final = "aioc_opa_decisions"
"""Counter; attributes ``kind``, ``tool``, ``decision``, ``reason``."""

DURATION: Final = "aioc_opa_decision_duration"
"""Histogram, seconds; attributes ``kind``, ``decision``."""

BUCKETS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 2.5, 5.0)
"""Seconds. A decision by an OPA on the same machine takes one or two thousandths; the deadline is 5 by default."""

UNREGISTERED: Final = "unregistered"


class OpenTelemetryObserver:
    """A `DecisionObserver` that makes spans and metrics. Thread-safe and task-safe.

    The span is the current one while policy is asked, so that engines in process and `current_traceparent` find it.

    Args:
        tracer_provider: the global one when not given.
        meter_provider: likewise.
        tenant_keys: at least 32 random bytes by tenant, for ``aioc_opa.proposal_ref``; ``""`` stands for no tenant.
            The keys of the audit trail make the same references.

    Raises:
        ConfigurationError: a key is too short.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        tenant_keys: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        if any(type(key) is not bytes or len(key) < MIN_KEY_BYTES for key in tenant_keys.values()):
            raise ConfigurationError(f"a tenant's key must be at least {MIN_KEY_BYTES} random bytes")
        self._keys: Final = dict(tenant_keys)
        self._tracer: Final = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._decisions: Final = meter.create_counter(
            DECISIONS,
            unit="{decision}",
            description="Decisions on tool calls and handoffs, by answer and reason.",
        )
        self._duration: Final = meter.create_histogram(
            DURATION,
            unit="s",
            description="Time of one whole decision.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )

    def began(self, call: ObservedCall) -> OpenTelemetryObservation:
        """See `DecisionObserver`."""
        name = f"authorize_{call.kind}"
        span = self._tracer.start_span(
            f"{name} {call.target}" if call.registered else name,
            kind=SpanKind.INTERNAL,
            attributes=_known(
                {
                    "gen_ai.tool.name" if call.kind == "tool" else "aioc_opa.handoff.to_agent": call.target,
                    "gen_ai.tool.call.id": call.call_id if call.kind == "tool" else None,
                    "gen_ai.agent.name": call.agent_name,
                    "aioc_opa.tool.version": call.tool_version,
                    "aioc_opa.run.id": call.run_id,
                    "aioc_opa.request.id": call.request_id,
                }
            ),
        )
        return OpenTelemetryObservation(
            call, span, decisions=self._decisions, duration=self._duration, tenant_keys=self._keys
        )


class OpenTelemetryObservation:
    """One decision: its span is current until it ends. Made by `OpenTelemetryObserver`."""

    def __init__(
        self,
        call: ObservedCall,
        span: Span,
        *,
        decisions: Counter,
        duration: Histogram,
        tenant_keys: Mapping[str, bytes],
    ) -> None:
        self._call = call
        self._span = span
        self._decisions = decisions
        self._duration = duration
        self._keys = tenant_keys
        self._token: Token[Context] = context.attach(trace.set_span_in_context(span))

    def ended(self, decision: ObservedDecision) -> None:
        """See `Observation`."""
        call, span = self._call, self._span
        try:
            span.set_attributes(_known(self._attributes(decision)))
            if decision.failed:
                span.set_status(StatusCode.ERROR)
            labels: dict[str, str] = {"kind": call.kind, "decision": decision.verdict}
            self._duration.record(decision.duration_seconds, labels)
            tool = call.target if call.registered and call.target is not None else UNREGISTERED
            if call.kind == "tool":
                labels["tool"] = tool
            self._decisions.add(1, labels | {"reason": decision.reason})
        finally:
            context.detach(self._token)
            span.end()

    def _attributes(self, decision: ObservedDecision) -> dict[str, str | tuple[str, ...] | None]:
        key = self._keys.get(decision.tenant or "")
        reference = None
        if key is not None and decision.proposal_hash is not None:
            reference = proposal_ref(key, decision.proposal_hash)
        return {
            "aioc_opa.decision": decision.verdict,
            "aioc_opa.reason": decision.reason,
            "aioc_opa.reasons": decision.reasons or None,
            "aioc_opa.policy.revision": decision.policy_revision,
            "aioc_opa.engine": decision.engine,
            "aioc_opa.opa.decision_id": decision.decision_id,
            "aioc_opa.approval.id": decision.approval_id,
            "aioc_opa.proposal_ref": reference,
            "error.type": decision.reason if decision.failed else None,
        }


class OpenTelemetryCounters:
    """The access gate's counters (`access.counters.Counters`) as OpenTelemetry counters. Thread-safe.

    Args:
        meter_provider: the global one when not given.
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        self._meter: Final = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._lock: Final = threading.Lock()
        self._counters: Final[dict[str, Counter]] = {}

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Count one."""
        with self._lock:
            counter = self._counters.get(name)
            if counter is None:
                counter = self._counters[name] = self._meter.create_counter(name, unit="{decision}")
        counter.add(1, dict(labels))


def current_traceparent() -> str | None:
    """The current span's trace context, for the ``traceparent`` of the OPA engines; None outside any trace."""
    current = trace.get_current_span().get_span_context()
    if not current.is_valid:
        return None
    return f"00-{current.trace_id:032x}-{current.span_id:016x}-{current.trace_flags:02x}"


def _known(attributes: Mapping[str, str | tuple[str, ...] | None]) -> dict[str, str | tuple[str, ...]]:
    return {name: value for name, value in attributes.items() if value is not None}
