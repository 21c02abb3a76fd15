"""`aioc-opa approvals approve` and `reject`: a signed vote on what was just shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

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
    PayloadKeyOption,
    PeopleOption,
    ReasonOption,
    SigningKeyOption,
    StoreOption,
    TenantOption,
    refused,
)
from aioc_opa.cli.approvals_person import PersonOptions, require_reason
from aioc_opa.cli.approvals_show import WholeOption, reviewed, show_page
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, warn
from aioc_opa.core.approvals.review_text import plain
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.errors import VoteRefusedError

if TYPE_CHECKING:
    from aioc_opa.core.approvals.review import Review

_STATUS: Final = """\b
Exit status:
  0  the vote counts
  1  nothing was changed: the vote is refused or was not confirmed, or the hash is another one
  2  wrong usage
  3  there is no such approval, it or a file is not what it should be, or the store cannot be used
"""

APPROVE_HELP: Final = f"""Approve a held call: show it, ask, and cast a vote that your key signs.

What you approve is what is shown: the hash of the review covers the action, for whom, in which run, on which terms and
until when, and all of that is what your key signs. A page that was cut cannot be approved; give --whole. The call runs
only when everybody that policy asks for has approved, and then only by `resume`, once.

{_STATUS}
\b
Examples:
  aioc-opa approvals approve apr_0123456789abcdef0123456789abcdef --store approvals.db --keys keys.json \\
      --people people.json --signing-key ann.key --reason "order checked by phone"
  aioc-opa approvals approve apr_0123456789abcdef0123456789abcdef --reason "in the change window" --yes-hash HASH
"""

REJECT_HELP: Final = f"""Reject a held call: show it, ask, and cast a vote that your key signs.

One rejection decides: the same call is denied for the rest of its run, and nobody is asked again.

{_STATUS}
\b
Examples:
  aioc-opa approvals reject apr_0123456789abcdef0123456789abcdef --store approvals.db --keys keys.json \\
      --people people.json --signing-key ann.key --reason "not this customer's account"
"""

YesHashOption = Annotated[
    str | None,
    typer.Option(
        "--yes-hash",
        metavar="HASH",
        help="Do not ask: this hash of the whole review that you decided on (reviewHash of `show --json`) must be that "
        "of what is shown now.",
    ),
]

_PROMPTED: Final = 8


def approve(
    approval: IdArgument,
    *,
    store: StoreOption,
    keys: KeysOption,
    people: PeopleOption,
    signing_key: SigningKeyOption,
    reason: ReasonOption,
    tenant: TenantOption = "",
    payload_key: PayloadKeyOption = None,
    whole: WholeOption = False,
    yes_hash: YesHashOption = None,
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
) -> None:
    """The command; see `APPROVE_HELP`."""
    options = PersonOptions(
        store=store,
        keys=keys,
        people=people,
        signing_key=signing_key,
        payload_key=payload_key,
        audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
    )
    _vote((tenant, approval), "approved", reason, options, whole=whole, yes_hash=yes_hash)


def reject(
    approval: IdArgument,
    *,
    store: StoreOption,
    keys: KeysOption,
    people: PeopleOption,
    signing_key: SigningKeyOption,
    reason: ReasonOption,
    tenant: TenantOption = "",
    payload_key: PayloadKeyOption = None,
    whole: WholeOption = False,
    yes_hash: YesHashOption = None,
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
) -> None:
    """The command; see `REJECT_HELP`."""
    options = PersonOptions(
        store=store,
        keys=keys,
        people=people,
        signing_key=signing_key,
        payload_key=payload_key,
        audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
    )
    _vote((tenant, approval), "rejected", reason, options, whole=whole, yes_hash=yes_hash)


def _vote(
    which: tuple[str, str],
    verdict: Literal["approved", "rejected"],
    reason: str,
    options: PersonOptions,
    *,
    whole: bool,
    yes_hash: str | None,
) -> None:
    logs.configure(verbose=False)
    require_reason(reason)
    if yes_hash is None and not sys.stdin.isatty():
        raise typer.BadParameter("there is nobody to ask here: give --yes-hash HASH of what was reviewed")
    with options.opened() as (broker, key, person):
        from aioc_opa.approvals.votes import sign_vote  # noqa: PLC0415 - an optional dependency

        try:
            review = reviewed(broker, *which, who=person.person_id)
            was_whole = show_page(review, whole=whole)
            if verdict == "approved" and not was_whole:
                raise VoteRefusedError("not_shown_whole", "what was not shown whole cannot be approved: give --whole")
            _confirm(review, verdict, yes_hash)
            vote = sign_vote(
                review.record,
                person,
                verdict=verdict,
                reason=reason,
                key=key,
                at_ms=broker.store.now_ms(),
                keys=broker.keys,
            )
            record = broker.cast(*which, vote)
        except VoteRefusedError as error:
            refused(error)
    say(f"{verdict} by {plain(person.person_id)}; the approval is {record.state.value} now")
    if record.state is ApprovalState.PENDING:
        warn("it takes more votes: see `aioc-opa approvals show`")


def _confirm(review: Review, verdict: str, yes_hash: str | None) -> None:
    """Have the voter name the hash of the review that was shown.

    Raises:
        VoteRefusedError: it is another one.
        typer.Exit: the voter said no.
    """
    if yes_hash is not None:
        if yes_hash != review.review_hash:
            if yes_hash == review.computed_hash:
                cure = (
                    "this one is of the action only; give reviewHash of `approvals show --json`, which also covers for "
                    "whom, in which run, on which terms and until when"
                )
            else:
                cure = "review it again"
            raise VoteRefusedError("another_hash", f"--yes-hash is not the hash of the review that is shown: {cure}")
        return
    start = review.review_hash[:_PROMPTED]
    doing = "approve" if verdict == "approved" else "reject"
    question = f"To {doing} this, type {start}, with which the review's hash begins"
    answer = typer.prompt(question, default="", show_default=False, err=True)
    if answer.strip() != start:
        warn("nothing was changed: not confirmed")
        raise typer.Exit(int(ExitStatus.DIFFERENT))
