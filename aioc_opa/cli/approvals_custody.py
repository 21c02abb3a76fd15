"""`aioc-opa approvals purge` and `access-log`: what becomes of stored arguments, and who has seen them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.approvals_options import AnyTenantOption, StoreOption, opened_store
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.terminal import json_line, say
from aioc_opa.core.approvals.review_text import plain
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.errors import ApprovalNotFoundError

PURGE_HELP: Final = """Remove stored arguments: of approvals that ended long ago, or of one now.

Hashes, bindings, votes and outcomes stay, so that the record still shows what happened. An approval that is open when
its arguments are removed is dismissed: nobody could review or run it any more.

\b
Exit status: 0 done; 2 wrong usage; 3 there is no such approval, or the store cannot be used.

\b
Examples:
  aioc-opa approvals purge --store approvals.db --ended-before-days 30
  aioc-opa approvals purge apr_0123456789abcdef0123456789abcdef --store approvals.db --tenant acme
"""

LOG_HELP: Final = """List who has looked at stored arguments, when and what for, oldest first.

\b
Exit status: 0 listed, also when nobody has; 2 wrong usage; 3 the store cannot be used.

\b
Examples:
  aioc-opa approvals access-log --store approvals.db --tenant acme
  aioc-opa approvals access-log apr_0123456789abcdef0123456789abcdef --store approvals.db --json
"""

_MS_A_DAY: Final = 86_400_000


def purge(
    approval: Annotated[str | None, typer.Argument(metavar="ID", help="Only this one, whatever its state.")] = None,
    *,
    store: StoreOption,
    tenant: AnyTenantOption = None,
    days: Annotated[
        float | None,
        typer.Option("--ended-before-days", min=0.0, metavar="DAYS", help="Those that ended at least so long ago."),
    ] = None,
) -> None:
    """The command; see `PURGE_HELP`."""
    logs.configure(verbose=False)
    if (approval is None) == (days is None):
        raise typer.BadParameter("give either the ID of one approval, or --ended-before-days DAYS")
    with opened_store(store, None) as opened:
        if approval is None:
            removed = opened.purge_payloads(tenant, opened.now_ms() - int((days or 0.0) * _MS_A_DAY))
            say(f"removed the arguments of {removed} approvals")
            return
        if not opened.erase(tenant or "", approval):
            raise ApprovalNotFoundError("no such approval; give --tenant if the call has one")
    say("removed the arguments")


def access_log(
    approval: Annotated[str | None, typer.Argument(metavar="ID", help="Only of this approval.")] = None,
    *,
    store: StoreOption,
    tenant: AnyTenantOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `LOG_HELP`."""
    logs.configure(verbose=False)
    with opened_store(store, None) as opened:
        entries = opened.access_log(tenant, approval)
    if json:
        listed = [
            {
                "at": rfc3339_of_ms(each.at_ms),
                "who": each.who,
                "action": each.action,
                "approvalId": each.approval_id,
                "tenant": each.tenant or None,
            }
            for each in entries
        ]
        say(json_line({"accesses": listed}))
        return
    for each in entries:
        of = f" of {plain(each.tenant)}" if each.tenant else ""
        say(f"{rfc3339_of_ms(each.at_ms)}  {plain(each.who)}  {plain(each.action)}  {plain(each.approval_id)}{of}")
    if not entries:
        say("nobody has looked")
