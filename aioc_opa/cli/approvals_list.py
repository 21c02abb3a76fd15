"""`aioc-opa approvals list`: what waits, without arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from aioc_opa.cli import logs
from aioc_opa.cli.approvals_options import AnyTenantOption, StoreOption, opened_store
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.tables import say_table
from aioc_opa.cli.terminal import json_line, say, warn
from aioc_opa.core.approvals.review_document import summary
from aioc_opa.core.approvals.review_page import duration
from aioc_opa.core.approvals.review_text import plain
from aioc_opa.core.approvals.states import OPEN, ApprovalState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import ApprovalRecord

HELP: Final = """List approvals, oldest first: those that wait or are approved, or those in the states given.

No arguments are read. An approval is looked at with `approvals show`.

\b
Exit status: 0 listed, also when there is none; 1 some cannot be read, and are named; 2 wrong usage; 3 the store cannot
be used.

\b
Examples:
  aioc-opa approvals list --store approvals.db
  aioc-opa approvals list --store approvals.db --state rejected --state expired --tenant acme
  AIOC_OPA_APPROVALS_STORE=postgresql://reviewer@db/approvals aioc-opa approvals list --json
"""


def list_approvals(
    *,
    store: StoreOption,
    state: Annotated[
        list[ApprovalState] | None, typer.Option("--state", help="Only these; may be given several times.")
    ] = None,
    tenant: AnyTenantOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 100,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    with opened_store(store, None) as opened:
        unreadable: list[str] = []
        found = opened.find(tenant, frozenset(state) if state else OPEN, limit + 1, unreadable=unreadable.append)
        now_ms = opened.now_ms()
    listed, more = found[:limit], len(found) > limit
    if json:
        say(json_line({"approvals": [summary(record) for record in listed], "unreadable": [*unreadable], "more": more}))
    elif listed:
        say_table(_table(listed, now_ms))
    elif not unreadable:
        say("there is none")
    if more:
        warn(f"there are more than these {limit}; give a greater --limit to see them")
    for approval_id in unreadable:
        warn(f"{approval_id} cannot be read: somebody has edited its row; nothing runs by it")
    if unreadable:
        raise typer.Exit(int(ExitStatus.DIFFERENT))


def _table(records: Sequence[ApprovalRecord], now_ms: int) -> Table:
    table = Table()
    table.add_column("approval", no_wrap=True, min_width=36)  # whole, to be copied
    for heading in ("state", "tool", "for", "held because", "expires in", "votes"):
        table.add_column(heading, overflow="fold")
    for record in records:
        bindings = record.bindings
        identity = "-" if bindings.identity is None else plain(bindings.identity)
        tenant = "" if bindings.tenant is None else f" of {plain(bindings.tenant)}"
        left = duration(max(record.expires_at_ms - now_ms, 0) // 1000) if record.state in OPEN else "-"
        cells = (
            plain(record.approval_id),
            record.state.value,
            plain(bindings.tool_name),
            identity + tenant,
            plain(record.reason),
            left,
            str(len(record.votes)),
        )
        table.add_row(*(Text(each) for each in cells))
    return table
