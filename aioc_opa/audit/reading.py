"""Reads records for people and other systems. It passes over what is no record; `verify` says what that is."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aioc_opa.audit.log_folder import split_line
from aioc_opa.core.audit.chain import NotARecordError, record_of
from aioc_opa.models.audit_record import EventContent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from aioc_opa.audit.sources import Line, LogSource
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.audit_record import AuditRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which records are wanted. What is empty or None asks for nothing.

    Attributes:
        writers: names.
        kinds: of events.
        tools: names, or digests of names that are not registered.
        decisions: of events.
        reasons: one of an event's reasons.
        identities: of principals.
        tenants: likewise.
        runs: ids.
        calls: ids of calls; two runs can have one of the same id.
        approvals: ids.
        since: RFC 3339 in UTC with milliseconds, by the writer's clock; this time and later.
        until: likewise; earlier than this time.
    """

    writers: Collection[str] = ()
    kinds: Collection[str] = ()
    tools: Collection[str] = ()
    decisions: Collection[str] = ()
    reasons: Collection[str] = ()
    identities: Collection[str] = ()
    tenants: Collection[str] = ()
    runs: Collection[str] = ()
    calls: Collection[str] = ()
    approvals: Collection[str] = ()
    since: str | None = None
    until: str | None = None

    def takes(self, record: AuditRecord) -> bool:
        """Whether `record` is wanted. One without an event is when nothing is asked of events."""
        if self.writers and record.writer not in self.writers:
            return False
        if (self.since is not None and record.at < self.since) or (self.until is not None and record.at >= self.until):
            return False
        content = record.content
        if type(content) is EventContent:
            return self._takes_event(content.event)
        of_events = (self.kinds, self.tools, self.decisions, self.reasons, self.identities, self.tenants)
        return not any((*of_events, self.runs, self.calls, self.approvals))

    def _takes_event(self, event: AuditEvent) -> bool:
        if self.reasons and event.reason not in self.reasons and not set(self.reasons).intersection(event.reasons):
            return False
        asked = (
            (self.kinds, event.kind),
            (self.tools, event.tool_name),
            (self.decisions, event.decision),
            (self.identities, event.identity),
            (self.tenants, event.tenant),
            (self.runs, event.run_id),
            (self.calls, event.call_id),
            (self.approvals, event.approval_id),
        )
        return all(not wanted or value in wanted for wanted, value in asked)


def record_in(line: Line) -> AuditRecord | None:
    """The record that a line is, if it is one and stands as a write leaves it."""
    if line.end in {"broken", "no_file"}:
        return None
    try:
        return record_of(split_line(line.content)[1])
    except NotARecordError:
        return None


class LogReader:
    """Reads the records of a source.

    Attributes:
        passed_over: lines that are no records, so far.
    """

    def __init__(self, source: LogSource, selection: Selection | None = None) -> None:
        self._source = source
        self._selection = Selection() if selection is None else selection
        self.passed_over = 0

    def records(self) -> Iterator[AuditRecord]:
        """Every record that is wanted: each writer's in its order, and writers mixed by time.

        Raises:
            InputFileError: the source cannot be read.
        """
        wanted = self._selection.writers
        writers = [writer for writer in self._source.writers() if not wanted or writer in wanted]
        yield from heapq.merge(*(self._of(writer) for writer in writers), key=lambda record: record.at)

    def record_in(self, line: Line) -> AuditRecord | None:
        """The record in a line, if it is wanted. A last line without its end may still be being written."""
        record = record_in(line)
        if record is None:
            self.passed_over += line.end != "open"
            return None
        return record if self._selection.takes(record) else None

    def _of(self, writer: str) -> Iterator[AuditRecord]:
        for line in self._source.lines(writer):
            record = self.record_in(line)
            if record is not None and record.writer == writer:
                yield record
            elif record is not None:  # anybody can write one that says so; it does not stand in that one's log
                self.passed_over += 1
