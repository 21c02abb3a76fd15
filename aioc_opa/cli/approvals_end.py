"""`aioc-opa approvals revoke` and `dismiss`: end what is open."""

from __future__ import annotations

from typing import Final, Literal

from aioc_opa.cli import logs
from aioc_opa.cli.approvals_audit import (
    AuditKeyOption,
    AuditOption,
    AuditOptions,
    AuditTenantKeysOption,
    AuditWriterOption,
)
from aioc_opa.cli.approvals_options import (
    IdArgument,
    KeysOption,
    PeopleOption,
    ReasonOption,
    SigningKeyOption,
    StoreOption,
    TenantOption,
    refused,
)
from aioc_opa.cli.approvals_person import PersonOptions, require_reason
from aioc_opa.cli.terminal import say
from aioc_opa.errors import VoteRefusedError

_STATUS: Final = """\b
Exit status: 0 it has ended; 1 nothing was changed; 2 wrong usage; 3 there is no such approval, a file is not what it
should be, or the store cannot be used.
"""

REVOKE_HELP: Final = f"""Take an approval back that has not been used. Who may vote on it may revoke it.

{_STATUS}
\b
Examples:
  aioc-opa approvals revoke apr_0123456789abcdef0123456789abcdef --store approvals.db --keys keys.json \\
      --people people.json --signing-key ann.key --reason "the customer called again"
"""

DISMISS_HELP: Final = f"""End a request that nobody needs any more. Who may vote on it, and who asked, may dismiss it.

The call does not count as rejected: it may be proposed, and held, again.

{_STATUS}
\b
Examples:
  aioc-opa approvals dismiss apr_0123456789abcdef0123456789abcdef --store approvals.db --keys keys.json \\
      --people people.json --signing-key ann.key --reason "the run was stopped"
"""


def revoke(
    approval: IdArgument,
    *,
    store: StoreOption,
    keys: KeysOption,
    people: PeopleOption,
    signing_key: SigningKeyOption,
    reason: ReasonOption,
    tenant: TenantOption = "",
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
) -> None:
    """The command; see `REVOKE_HELP`."""
    options = PersonOptions(
        store=store,
        keys=keys,
        people=people,
        signing_key=signing_key,
        audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
    )
    _end((tenant, approval), "revoke", reason, options)


def dismiss(
    approval: IdArgument,
    *,
    store: StoreOption,
    keys: KeysOption,
    people: PeopleOption,
    signing_key: SigningKeyOption,
    reason: ReasonOption,
    tenant: TenantOption = "",
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
) -> None:
    """The command; see `DISMISS_HELP`."""
    options = PersonOptions(
        store=store,
        keys=keys,
        people=people,
        signing_key=signing_key,
        audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
    )
    _end((tenant, approval), "dismiss", reason, options)


def _end(which: tuple[str, str], how: Literal["revoke", "dismiss"], reason: str, options: PersonOptions) -> None:
    logs.configure(verbose=False)
    require_reason(reason)
    with options.opened() as (broker, _key, person):
        ending = broker.revoke if how == "revoke" else broker.dismiss
        try:
            record = ending(*which, by=person, reason=reason)
        except VoteRefusedError as error:
            refused(error)
    say(f"the approval is {record.state.value} now")
