"""`aioc-opa approvals recover`: effects that were begun, or were about to, and have no end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

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
    KEYS,
    PEOPLE,
    SIGNING_KEY,
    AnyTenantOption,
    StoreOption,
    opened_store,
    refused,
)
from aioc_opa.cli.approvals_person import PersonOptions
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import json_line, say, warn
from aioc_opa.core.approvals.review_text import plain
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.errors import InputFileError, VoteRefusedError

if TYPE_CHECKING:
    from aioc_opa.approvals.records import EffectOutcome, UnfinishedEffect
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.core.json_value import JsonObject

HELP: Final = """List effects without an end: a process ended between intent and end of a tool, or it still runs.

Each says whether the tool may have run, and what to do. Nothing is ever run again by itself. When you have found out
what happened, write it down with --settle EXECUTION_ID=OUTCOME, which may be given several times. Your key file says
who found out, and the access log keeps that:

\b
  returned     the tool ran to its end
  raised       the tool ran and failed
  not_entered  the tool did not run
  unknown      nobody can tell; the approval becomes outcome_unknown

\b
Exit status: 0 nothing is unfinished (any more); 1 something is, or it was not settled: you may not, or it cannot be
recorded; 2 wrong usage; 3 there is no such effect, a file is not what it should be, or the store cannot be used.

\b
Examples:
  aioc-opa approvals recover --store approvals.db
  aioc-opa approvals recover --store approvals.db --keys keys.json --people people.json --signing-key ann.key \\
      --settle 0123456789abcdef0123456789abcdef=returned
"""

MAY_HAVE_RUN: Final = (
    "MAY HAVE RUN: the approval or the claim was used up for it, and nobody wrote how it ended. Look at the tool's "
    "own records; then settle it as returned or raised, or as unknown when nobody can tell. It does not run again by "
    "itself."
)
DID_NOT_RUN: Final = (
    "did not run: nothing was used up for it. Settle it as not_entered; an approval that stands can be resumed."
)

_SOON_MS: Final = 60_000
"""A younger one may be written between the reading of the clock and the query."""

_OUTCOMES: Final = ("returned", "raised", "not_entered", "unknown")


def recover(
    *,
    store: StoreOption,
    keys: Annotated[Path | None, KEYS] = None,
    people: Annotated[Path | None, PEOPLE] = None,
    signing_key: Annotated[Path | None, SIGNING_KEY] = None,
    tenant: AnyTenantOption = None,
    older_than: Annotated[
        float,
        typer.Option("--older-than", min=0.0, metavar="SECONDS", help="Leave out younger ones: tools may be running."),
    ] = 60.0,
    settle: Annotated[
        list[str] | None, typer.Option("--settle", metavar="EXECUTION_ID=OUTCOME", help="Write how an effect ended.")
    ] = None,
    audit: AuditOption = None,
    audit_key: AuditKeyOption = None,
    audit_tenant_keys: AuditTenantKeysOption = None,
    audit_writer: AuditWriterOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    wanted = [_settlement(text) for text in settle or ()]
    if wanted:
        if keys is None or people is None or signing_key is None:
            raise typer.BadParameter("--settle needs --keys, --people and --signing-key: it is kept who found out")
        options = PersonOptions(
            store=store,
            keys=keys,
            people=people,
            signing_key=signing_key,
            audit=AuditOptions(target=audit, key=audit_key, tenant_keys=audit_tenant_keys, writer=audit_writer),
        )
        _settle(options, wanted, tenant, older_than)
    with opened_store(store, None) as opened:
        left, younger = _unfinished(opened, tenant, older_than)
    if younger:
        warn(f"{younger} younger than {older_than:g} s not listed: they may be running; see --older-than")
    if json:
        say(json_line({"unfinished": [_document(each) for each in left], "younger": younger}))
    else:
        for each in left:
            _print(each)
        if not left:
            say("nothing is unfinished")
    raise typer.Exit(int(ExitStatus.DIFFERENT if left else ExitStatus.OK))


def _settle(
    options: PersonOptions, wanted: list[tuple[str, EffectOutcome]], tenant: str | None, older_than: float
) -> None:
    with options.opened() as (broker, _key, person):
        listed, _ = _unfinished(broker.store, tenant, older_than)
        found = {each.intent.execution_id: each for each in listed}
        for execution_id, outcome in wanted:
            _require_fits(found.get(execution_id), outcome)
        for execution_id, outcome in wanted:
            try:
                broker.settle(found[execution_id].intent, outcome, by=person)
            except VoteRefusedError as error:
                refused(error)
            warn(f"{execution_id} is settled: {outcome}")


def _unfinished(store: ApprovalStore, tenant: str | None, older_than: float) -> tuple[list[UnfinishedEffect], int]:
    """Those to list, and how many are younger."""
    now_ms = store.now_ms()
    before_ms = now_ms - int(older_than * 1000)
    everything = store.unfinished(tenant, max(now_ms, before_ms) + _SOON_MS)
    old = [each for each in everything if each.intended_at_ms < before_ms]
    return old, len(everything) - len(old)


def _settlement(text: str) -> tuple[str, EffectOutcome]:
    execution_id, equals, outcome = text.partition("=")
    if not equals or outcome not in _OUTCOMES:
        raise typer.BadParameter(f"--settle: write EXECUTION_ID=OUTCOME, the outcome one of {', '.join(_OUTCOMES)}")
    return execution_id, cast("EffectOutcome", outcome)


def _require_fits(found: UnfinishedEffect | None, outcome: EffectOutcome) -> None:
    """Refuse to write what contradicts the store.

    Raises:
        InputFileError: there is no such effect, or it cannot have run.
    """
    if found is None:
        raise InputFileError(
            "--settle: no unfinished effect of this execution id; it has ended, is younger than --older-than, or is "
            "another tenant's"
        )
    if not found.may_have_run and outcome != "not_entered":
        raise InputFileError(f"--settle {found.intent.execution_id}: it did not run, so its outcome is not_entered")


def _print(effect: UnfinishedEffect) -> None:
    intent = effect.intent
    tenant = plain(intent.tenant) if intent.tenant else "none"
    say(f"execution {plain(intent.execution_id)}, intended at {rfc3339_of_ms(effect.intended_at_ms)}")
    say(f"  tool {plain(intent.tool_name)}, tenant {tenant}, run {plain(intent.run_id)}, call {plain(intent.call_id)}")
    say(f"  {'a call that needed no approval' if intent.approval_id is None else plain(intent.approval_id)}")
    say(f"  {MAY_HAVE_RUN if effect.may_have_run else DID_NOT_RUN}")


def _document(effect: UnfinishedEffect) -> JsonObject:
    intent = effect.intent
    return {
        "executionId": intent.execution_id,
        "tenant": intent.tenant or None,
        "runId": intent.run_id,
        "callId": intent.call_id,
        "toolName": intent.tool_name,
        "proposalHash": intent.proposal_hash,
        "approvalId": intent.approval_id,
        "intendedAt": rfc3339_of_ms(effect.intended_at_ms),
        "mayHaveRun": effect.may_have_run,
    }
