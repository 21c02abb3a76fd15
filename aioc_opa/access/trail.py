"""What is told about one question: events to the sink, counts to the counters. Neither can affect the decision."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.access.counters import APPROVAL_DECISIONS, AUTHORIZATION_DECISIONS, TOOL_REASONS, UNREGISTERED
from aioc_opa.access.events import LoggingSink
from aioc_opa.access.names import bounded_id, digest_name
from aioc_opa.models.access_event import AccessEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aioc_opa.access.counters import BoundedSeries, Counters
    from aioc_opa.access.events import EventSink
    from aioc_opa.access.questions import AccessQuestion, ToolMetadata
    from aioc_opa.models.principal import Principal

logger: Final = logging.getLogger("aioc_opa.access")


class Reporter:
    """Sink and counters of one gate. Thread-safe."""

    def __init__(self, sink: EventSink, counters: Counters | None, series: BoundedSeries) -> None:
        self._sink: Final = sink
        self._counters: Final = counters
        self._series: Final = series

    def emit(self, make: Callable[[], AccessEvent], decision: str | None) -> None:
        """Make an event with `decision` and give it to the sink."""
        sink = self._sink
        if type(sink) is LoggingSink and sink.ignores(decision):
            return
        _shielded("event sink", lambda: sink.emit(make()))

    def count(self, name: str, labels: Mapping[str, str]) -> None:
        """Count one."""
        counters = self._counters
        if counters is not None:
            _shielded("counter", lambda: counters.add(name, labels))

    def count_reason(self, tool: str, reason: str) -> None:
        """Count by tool and detail code, bounded."""
        self.count(TOOL_REASONS, self._series.labels(tool, reason))


class Trail:
    """The events of one question whose ids are checked. Not thread-safe: a question has one thread at a time.

    `registered` is the tool, where it is one whose name may be shown.
    """

    def __init__(self, reporter: Reporter, question: AccessQuestion, registered: ToolMetadata | None) -> None:
        self._reporter: Final = reporter
        self._started: Final = time.perf_counter()
        self._asked = self._started
        self._tool: Final = UNREGISTERED if registered is None else registered.name
        self._common: Final[dict[str, Any]] = {
            "request_id": question.request_id,
            "execution_id": bounded_id(question.run_id),
            "call_id": bounded_id(question.call_id),
            "tool_name": digest_name(question.tool_name) if registered is None else registered.name,
            "tool_version": None if registered is None else registered.version,
        }

    def requested(self, principal: Principal | None) -> None:
        """The question has come; `principal` as bound, None when there is no usable one."""
        if principal is not None:
            self._common["identity"] = principal.identity
            self._common["tenant_id"] = principal.tenant
        self._emit("tool.authorization.requested")

    def decided(self, decision: str, *, reason: str, detail: str) -> None:
        """Step 1 has decided, before any approval."""
        self._emit("tool.authorization.decided", self._started, decision=decision, reason=reason, detail_code=detail)
        self._reporter.count(AUTHORIZATION_DECISIONS, {"decision": decision})
        self._reporter.count_reason(self._tool, detail)

    def approval_requested(self, detail: str) -> None:
        """A person is asked."""
        self._asked = time.perf_counter()
        self._emit("tool.approval.requested", detail_code=detail)

    def approval_ended(self, decision: str, *, reason: str, detail: str, decided_by: str | None = None) -> None:
        """The approval has ended: ``approved``, ``denied``, ``expired`` or ``cancelled``."""
        kind = f"tool.approval.{decision if decision in {'expired', 'cancelled'} else 'decided'}"
        self._emit(kind, self._asked, decision=decision, reason=reason, detail_code=detail, decided_by=decided_by)
        self._reporter.count(APPROVAL_DECISIONS, {"decision": decision})

    def _emit(self, kind: str, since: float | None = None, **facts: str | None) -> None:
        elapsed = None if since is None else round((time.perf_counter() - since) * 1000.0, 3)

        def make() -> AccessEvent:
            return AccessEvent.model_validate(
                {**self._common, **facts, "type": kind, "at": instant(), "duration_ms": elapsed}
            )

        self._reporter.emit(make, facts.get("decision"))


def instant(at: float | None = None) -> str:
    """RFC 3339 in UTC with milliseconds: of `at`, seconds since 1970, or of now."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shielded(what: str, do: Callable[[], object]) -> None:
    try:
        do()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - also a CancelledError that nobody sent: events affect nothing
        logger.error("the %s raised %s", what, type(error).__name__)  # noqa: TRY400 - exception texts stay out of logs
