"""`aioc-opa audit export`: events for other systems."""

from __future__ import annotations

import csv
import io
import re
from enum import StrEnum
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
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import escaped, json_line, say, warn
from aioc_opa.models.audit_event import AuditEvent
from aioc_opa.models.audit_record import EventContent

if TYPE_CHECKING:
    from aioc_opa.models.audit_record import AuditRecord

HELP: Final = """Write the events of audit logs to standard output, for a SIEM or a spreadsheet.

jsonl: one object an event, with its writer, sequence number and hash; ASCII. csv: the same as columns; lists are joined
by a blank, and characters that act on others or are not seen are escapes, as in `audit tail`. What a spreadsheet would
take for a formula, at the start of a text or behind a separator in it, gets an apostrophe before it.

It reads, and verifies nothing but each record's own hash; `audit verify` does, on the log itself.

\b
Exit status: 0 written; 1 written, but lines of the log are no records; 2 wrong usage; 3 the log cannot be read; 74 the
output cannot be written.

\b
Examples:
  aioc-opa audit export audit/ --since 2026-07-01T00:00:00Z > july.jsonl
  aioc-opa audit export audit.db --format csv --decision deny > denials.csv
  aioc-opa audit export audit/ --run run-1 --call call-1 > call.jsonl
"""

_SIGNS: Final = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212"
"""What begins a formula, full-width, small and typographic forms included: some spreadsheets read them as ASCII."""

_FORMULA: Final = re.compile(
    rf"(?:^|[;,|\t\r\n])[\s\"'\x00-\x1f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*(?=[{_SIGNS}])"
)
"""Where one may begin: at the start, or where somebody's locale has another separator than the comma."""


class ExportFormat(StrEnum):
    """What is written."""

    JSONL = "jsonl"
    CSV = "csv"


def export(
    log: LogArgument,
    *,
    form: Annotated[ExportFormat, typer.Option("--format", help="What is written.")] = ExportFormat.JSONL,
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
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit.sources import open_source  # noqa: PLC0415 - an optional dependency

    wanted = selection(
        writer=writer, kind=kind, tool=tool, decision=decision, reason=reason, identity=identity, tenant=tenant,
        run=run, call=call, approval=approval, since=since, until=until,
    )  # fmt: skip
    reader = LogReader(open_source(log), wanted)
    columns = [field.alias or name for name, field in AuditEvent.model_fields.items()]
    header = ["writer", "sequence", "hash", *columns]
    if form is ExportFormat.CSV:
        say(_row(header))
    for record in reader.records():
        content = record.content
        if type(content) is EventContent:
            document = _document(record, content.event)
            say(_row([document.get(name) for name in header]) if form is ExportFormat.CSV else json_line(document))
    if reader.passed_over:
        warn(f"{reader.passed_over} lines are no records: see `aioc-opa audit verify`")
        raise typer.Exit(int(ExitStatus.DIFFERENT))


def _document(record: AuditRecord, event: AuditEvent) -> dict[str, object]:
    place = {"writer": record.writer, "sequence": record.sequence, "hash": record.hash}
    return {**place, **event.model_dump(by_alias=True, exclude_defaults=True)}


def _row(values: list[object] | list[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([_cell(value) for value in values])
    return written.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return escaped(_FORMULA.sub(lambda found: f"{found[0]}'", text))
