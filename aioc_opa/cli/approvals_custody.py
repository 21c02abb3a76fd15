"""`aioc-opa approvals purge` and `access-log`: what becomes of stored arguments, and who has seen them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.cli import logs
from aioc_opa.cli.approvals_audit import (
    AuditKeyOption,
    AuditOption,
    AuditOptions,
    AuditTenantKeysOption,
    AuditWriterOption,
)
from aioc_opa.cli.approvals_options import (
    AnyTenantOption,
    KeysOption,
    PeopleOption,
    SigningKeyOption,
    StoreOption,
    opened_store,
    refused,
)
from aioc_opa.cli.approvals_person import PersonOptions
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.terminal import json_line, say
from aioc_opa.core.approvals.review_text import plain
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.errors import VoteRefusedError

PURGE_HELP: Final = """Remove stored arguments: of approvals that ended long ago, or of one now.

Hashes, bindings, votes and outcomes stay, so that the record still shows what happened. An approval that is open when
its arguments are removed is dismissed, and takes who may dismiss it: nobody could review or run it any more. Your key
file says who removes them: a person of the file of people, who serves the tenant, and every tenant where --tenant is
not given. The access log keeps that, for each approval.

\b
Exit status: 0 done; 1 nothing was changed: you may not, or it cannot be recorded; 2 wrong usage; 3 there is no such
approval, a file is not what it should be, or the store cannot be used.

\b
Examples:
  aioc-opa approvals purge --store approvals.db --keys keys.json --people people.json --signing-key ann.key \\
      --ended-before-days 30
  aioc-opa approvals purge apr_0123456789abcdef0123456789abcdef --store approvals.db --tenant acme
"""

LOG_HELP: Final = """List who has looked at stored arguments, when and what for, oldest first.

Also who has removed them, and who has settled an unfinished effect.

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
    keys: KeysOption,
    people: PeopleOption,
    signing_key: SigningKeyOption,
    tenant: AnyTenantOption = None,
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
    days: Annotated[
        float | None,
        typer.Option("--ended-before-days", min=0.0, metavar="DAYS", help="Those that ended at least so long ago."),
    ] = None,
) -> None:
    """The command; see `PURGE_HELP`."""
    logs.configure(verbose=False)
    if (approval is None) == (days is None):
        raise typer.BadParameter("give either the ID of one approval, or --ended-before-days DAYS")
    options = PersonOptions(
        store=store,
        keys=keys,
        people=people,
        signing_key=signing_key,
        audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
    )
    with options.opened() as (broker, _key, person):
        try:
            if approval is None:
                before = broker.store.now_ms() - int((days or 0.0) * _MS_A_DAY)
                removed = broker.purge(tenant, before, by=person)
                said = f"removed the arguments of {removed} approvals"
            else:
                broker.erase(tenant or NO_TENANT, approval, by=person)
                said = "removed the arguments"
        except VoteRefusedError as error:
            refused(error)
    say(said)


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
