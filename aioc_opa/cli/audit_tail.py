"""`aioc-opa audit tail`: the last records, for people."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.audit.reading import LogReader
from aioc_opa.cli import logs
from aioc_opa.cli.audit_options import (
    ApprovalOption,
    CallOption,
    DecisionOption,
    IdentityOption,
    KindOption,
    LogArgument,
    ReasonOption,
    RunOption,
    SinceOption,
    TenantOption,
    ToolOption,
    UntilOption,
    WriterOption,
    selection,
)
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.terminal import json_line, say, shown, warn
from aioc_opa.models.audit_record import EventContent

if TYPE_CHECKING:
    from aioc_opa.models.audit_record import AuditRecord

HELP: Final = """Show the last records of audit logs, writers mixed by time; with --follow also those that come.

It reads, and verifies nothing but each record's own hash; `audit verify` does. Control characters and those that
reorder text are shown as escapes.

\b
Exit status: 0 shown; 2 wrong usage; 3 the log cannot be read; 130 interrupted.

\b
Examples:
  aioc-opa audit tail audit/ -n 50
  aioc-opa audit tail audit/ --follow --decision deny --tool issue_refund
  aioc-opa audit tail audit.db --json --kind execution_failed
"""

_POLL_SECONDS: Final = 0.5


def tail(
    log: LogArgument,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, max=1_000_000, help="So many at most.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is added.")] = False,
    writer: WriterOption = None,
    kind: KindOption = None,
    tool: ToolOption = None,
    decision: DecisionOption = None,
    reason: ReasonOption = None,
    identity: IdentityOption = None,
    tenant: TenantOption = None,
    run: RunOption = None,
    call: CallOption = None,
    approval: ApprovalOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit.following import Follower  # noqa: PLC0415 - an optional dependency
    from aioc_opa.audit.sources import open_source  # noqa: PLC0415 - likewise

    wanted = selection(
        writer=writer, kind=kind, tool=tool, decision=decision, reason=reason, identity=identity, tenant=tenant,
        run=run, call=call, approval=approval, since=since, until=until,
    )  # fmt: skip
    source = open_source(log)
    follower = Follower(source) if follow else None
    reader = LogReader(source, wanted)
    for record in deque(reader.records(), lines):
        say(_line(record, json=json))
    if reader.passed_over:
        warn(f"{reader.passed_over} lines are no records: see `aioc-opa audit verify`")
    while follower is not None:
        for added in follower.added():
            found = reader.record_in(added)
            if found is not None:
                say(_line(found, json=json))
        time.sleep(_POLL_SECONDS)


def _line(record: AuditRecord, *, json: bool) -> str:
    if json:
        return json_line(record.model_dump(by_alias=True, exclude_defaults=True))
    start = f"{record.at} {shown(record.writer)} {record.sequence}"
    content = record.content
    if type(content) is not EventContent:
        return f"{start} {content.type}"
    event = content.event
    facts = (
        event.decision,
        event.tool_name,
        None if event.reason is None else f"reason={event.reason}",
        None if event.identity is None else f"by={event.identity}",
        None if event.tenant is None else f"of={event.tenant}",
        None if event.run_id is None else f"run={event.run_id}",
        None if event.call_id is None else f"call={event.call_id}",
        None if event.approval_id is None else f"approval={event.approval_id}",
    )
    return " ".join([start, event.kind, *(shown(fact) for fact in facts if fact is not None)])
