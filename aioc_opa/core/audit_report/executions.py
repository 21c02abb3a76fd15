"""What the log says of effects: begun, returned, raised, and those whose end it does not have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.audit_record import AuditRecord

MAX_OPEN: Final = 20_000


@dataclass(frozen=True, slots=True)
class OpenExecution:
    """An execution that began, and whose end is not among the records.

    Attributes:
        at: when it began.
        tool: that ran.
        writer: whose log says so.
        sequence: of the record.
    """

    at: str
    tool: str | None
    writer: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSummary:
    """All executions of a period.

    Attributes:
        started: intents.
        completed: the handler returned.
        failed: the handler raised, or was interrupted.
        not_entered: an intent was written, and then nothing ran.
        earlier: ends whose start is not among the records.
        unended: starts without an end.
        first_unended: some of those, in the order of the log.
    """

    started: int
    completed: int
    failed: int
    not_entered: int
    earlier: int
    unended: int
    first_unended: tuple[OpenExecution, ...]


class ExecutionLedger:
    """Takes events; a writer's in their order.

    Args:
        capacity: executions that may be open at a time; of more, the first count as unended.
    """

    def __init__(self, capacity: int = MAX_OPEN) -> None:
        self._capacity: Final = capacity
        self._open: dict[str, OpenExecution] = {}
        self._started = self._completed = self._failed = self._not_entered = self._earlier = self._lost = 0

    def take(self, record: AuditRecord, event: AuditEvent) -> None:
        """Take an event, if it is about an execution."""
        if event.kind == "execution_started":
            self._started += 1
            if len(self._open) >= self._capacity:
                del self._open[next(iter(self._open))]
                self._lost += 1
            name = event.execution_id or f"{record.writer} {record.sequence}"
            self._open[name] = OpenExecution(event.at, event.tool_name, record.writer, record.sequence)
            return
        known = self._open.pop(event.execution_id or "", None) is not None
        if event.kind == "execution_completed":
            self._completed += 1
            self._earlier += not known
        elif event.kind == "execution_failed":
            self._failed += 1
            self._earlier += not known
        elif event.kind == "permit_refused":
            self._not_entered += known

    def summary(self, *, listed: int) -> ExecutionSummary:
        """Of all so far; `listed` unended ones are named."""
        return ExecutionSummary(
            started=self._started,
            completed=self._completed,
            failed=self._failed,
            not_entered=self._not_entered,
            earlier=self._earlier,
            unended=len(self._open) + self._lost,
            first_unended=tuple(islice(self._open.values(), listed)),
        )
