"""`aioc-opa audit report`: a period at a glance, on one page."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.audit_options import (
    DEFAULT_NAME,
    AnchorKeysOption,
    AnchorNameOption,
    LogArgument,
    SinceOption,
    TenantOption,
    UntilOption,
    selection,
)
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, shown, warn

HELP: Final = """Write a report on a period of audit logs: one HTML page without script, or Markdown.

Decisions over time, by tool, reason and principal; refusals by the runtime itself; approvals, with who and how long;
what was carried out; the policy in force; whether the log verifies; and what the log cannot show. It counts records,
and draws no legal conclusion.

With --keys the log is verified while it is counted, line by line, as `audit verify` does; without, the page says that
it was not. The log is read once, whole, whatever the period. The same log and period give the same page.

\b
Exit status: 0 written; 1 written, and something was found in the log; 2 wrong usage; 3 the log, a key or an anchor
cannot be read, or the file cannot be written (it is never written over); 74 the output cannot be written.

\b
Examples:
  aioc-opa audit report audit/ --keys writer.pub.json --out july.html \\
    --since 2026-07-01T00:00:00Z --until 2026-08-01T00:00:00Z
  aioc-opa audit report audit.db --keys writer.pub.json --format markdown > report.markdown
"""

_MODE: Final = 0o600


class ReportFormat(StrEnum):
    """What is written."""

    HTML = "html"
    MARKDOWN = "markdown"


def report(
    log: LogArgument,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="A new file (mode 600); without: standard output.")
    ] = None,
    form: Annotated[ReportFormat, typer.Option("--format", help="What is written.")] = ReportFormat.HTML,
    since: SinceOption = None,
    until: UntilOption = None,
    tenant: TenantOption = None,
    keys: Annotated[
        list[Path] | None,
        typer.Option(
            "--keys", metavar="F", help="Public keys of the writers, several times; without, nothing is verified."
        ),
    ] = None,
    anchor: Annotated[
        list[Path] | None, typer.Option("--anchor", metavar="F", help="An anchor of this log; several times.")
    ] = None,
    anchor_keys: AnchorKeysOption = None,
    anchor_name: AnchorNameOption = DEFAULT_NAME,
    expect_writer: Annotated[
        list[str] | None, typer.Option("--expect-writer", metavar="NAME", help="Must have a log here; several times.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, max=500, help="Names in a table before the rest is one row.")
    ] = 12,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit import report as pages  # noqa: PLC0415 - an optional dependency
    from aioc_opa.audit import report_reading  # noqa: PLC0415 - likewise
    from aioc_opa.audit.anchoring import read_anchor  # noqa: PLC0415 - likewise
    from aioc_opa.audit.keys import read_public_keys  # noqa: PLC0415 - likewise
    from aioc_opa.audit.new_files import write_new_file  # noqa: PLC0415 - likewise
    from aioc_opa.audit.report_html import html_text  # noqa: PLC0415 - likewise
    from aioc_opa.audit.report_markdown import markdown_text  # noqa: PLC0415 - likewise
    from aioc_opa.audit.sources import open_source  # noqa: PLC0415 - likewise
    from aioc_opa.core.audit_report.collector import Figures  # noqa: PLC0415 - with the rest of the report

    if not keys and (anchor or anchor_keys or expect_writer):
        raise typer.BadParameter("--anchor, --anchor-keys and --expect-writer need --keys")
    if anchor and not anchor_keys:
        raise typer.BadParameter("--anchor needs --anchor-keys: an anchor of the writer's own key proves nothing more")
    wanted = selection(
        writer=None, kind=None, tool=None, decision=None, reason=None, identity=None, tenant=tenant, run=None,
        since=since, until=until,
    )  # fmt: skip
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        raise typer.BadParameter("--since must be before --until")
    believed = None if not keys else read_public_keys(*keys)
    of_anchors = {} if not anchor_keys else read_public_keys(*anchor_keys)
    anchors = [read_anchor(path, of_anchors, key_name=anchor_name) for path in anchor or ()]
    figures = Figures(since=wanted.since, until=wanted.until, tenants=frozenset(wanted.tenants))
    reading = report_reading.read(
        open_source(log),
        figures,
        keys=believed,
        anchors=anchors,
        expected_writers=expect_writer or (),
        progress=lambda lines: warn(f"{lines} lines read"),
    )
    page = pages.page_of(reading, top=top)
    text = html_text(page) if form is ReportFormat.HTML else markdown_text(page)
    if out is None:
        sys.stdout.write(text)
    else:
        write_new_file(out, text.encode(), mode=_MODE)
        say(f"{shown(out)}: {figures.events} events")
    if not reading.sound:
        warn("something was found in the log: see the page, and `aioc-opa audit verify`")
        raise typer.Exit(int(ExitStatus.DIFFERENT))
