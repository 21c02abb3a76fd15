"""`aioc-opa approvals show`, and the page that `approve` and `reject` show as well."""

from __future__ import annotations

import os
import pwd
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.approvals_options import (
    IdArgument,
    KeysOption,
    PayloadKeyOption,
    StoreOption,
    TenantOption,
    opened_store,
)
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.terminal import json_line, say, terminal_columns, warn
from aioc_opa.core.approvals.review import Review, ReviewRefusedError, review_of
from aioc_opa.core.approvals.review_document import document, without_arguments
from aioc_opa.core.approvals.review_lines import LEAST_COLUMNS, folded
from aioc_opa.core.approvals.review_page import GUTTER, page
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.models.approval_vote_statement import VoteStatement

HELP: Final = """Show what a reviewer must see of an approval: the action, for whom, why it is held, until when.

The hash of the action is computed from the very arguments that are shown; when it is not the one that the approval is
bound to, nothing is shown. The hash of the review covers all that the page says but for state and votes: it is what
`approve` and `reject` take as --yes-hash, and --json has it as reviewHash.

Characters that hide, reorder or imitate others are written as \\u escapes and listed. Long lines are folded behind a
mark to the terminal's width. That you looked is logged in the store. --json has everything, on one line of ASCII, and
what is left of an approval whose arguments were removed.

\b
Exit status: 0 shown; 2 wrong usage; 3 there is no such approval, it is not what it should be, or the store cannot be
used.

\b
Examples:
  aioc-opa approvals show apr_0123456789abcdef0123456789abcdef --store approvals.db --keys keys.json
  aioc-opa approvals show apr_0123456789abcdef0123456789abcdef --tenant acme --whole | less
"""

MOST_LINES: Final = 400
"""Lines of a page that are shown without being asked for all: more than anybody reads by accident."""

_COLUMNS: Final = 80
"""Columns of a page that goes to no terminal: of the narrowest one that somebody may read it on later."""

WholeOption = Annotated[bool, typer.Option("--whole", help=f"Show everything, also beyond {MOST_LINES} lines.")]


def show(
    approval: IdArgument,
    *,
    store: StoreOption,
    keys: KeysOption,
    tenant: TenantOption = "",
    payload_key: PayloadKeyOption = None,
    whole: WholeOption = False,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    from aioc_opa.approvals.broker import ApprovalBroker  # noqa: PLC0415 - an optional dependency
    from aioc_opa.approvals.keys import VoteKeys  # noqa: PLC0415 - an optional dependency
    from aioc_opa.approvals.people import PeopleTable  # noqa: PLC0415 - with the rest of the approvals

    logs.configure(verbose=False)
    public = VoteKeys.from_file(keys)
    with opened_store(store, payload_key) as opened:
        # Nobody votes here, so nobody needs to be known.
        broker = ApprovalBroker(opened, keys=public, people=PeopleTable(()))
        record = broker.show(tenant, approval, who=local_account())
        if json and record.payload is None:
            say(json_line(without_arguments(record, _votes(broker, record))))
            return
        review = review_record(broker, record)
    if json:
        say(json_line(document(review)))
        return
    show_page(review, whole=whole)


def reviewed(broker: ApprovalBroker, tenant: str, approval_id: str, *, who: str) -> Review:
    """The review of an approval; that `who` looks is logged first.

    Raises:
        ApprovalNotFoundError: there is none in this tenant.
        ReviewRefusedError: it is not what it should be.
    """
    record = broker.show(tenant, approval_id, who=who)
    return review_record(broker, record)


def review_record(broker: ApprovalBroker, record: ApprovalRecord) -> Review:
    """The review of a record, with its votes verified.

    Raises:
        ReviewRefusedError: it is not what it should be.
    """
    return review_of(record, _votes(broker, record), now_ms=broker.store.now_ms())


def _votes(broker: ApprovalBroker, record: ApprovalRecord) -> tuple[VoteStatement, ...]:
    from aioc_opa.approvals.votes import VoteForgedError, verified_votes  # noqa: PLC0415 - an optional dependency

    try:
        return verified_votes(record, keys=broker.keys)
    except VoteForgedError as error:
        raise ReviewRefusedError(
            error.code,
            f"{str(error).removesuffix(f' ({error.code})')}. Nothing of this approval counts: end it with `aioc-opa "
            "approvals dismiss`, and find out who writes to the store, or whether --keys are the right ones",
        ) from None


def show_page(review: Review, *, whole: bool) -> bool:
    """Print the page; False when it was cut, which is said.

    Raises:
        InputFileError: the terminal cannot show it.
    """
    try:
        GUTTER.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        raise InputFileError(
            "standard output is not UTF-8, so the page cannot be shown faithfully: set LC_ALL=C.UTF-8, or give --json"
        ) from None
    columns = terminal_columns() or _COLUMNS
    if columns < LEAST_COLUMNS:
        raise InputFileError(
            f"the terminal has {columns} columns, and the page needs {LEAST_COLUMNS} to be shown faithfully: widen it, "
            "or give --json"
        )
    lines = tuple(folded(page(review), columns=columns))
    shown_lines = lines if whole else lines[:MOST_LINES]
    # One write: nothing of another program gets between the lines.
    say("\n".join(shown_lines))
    left = len(lines) - len(shown_lines)
    if left:
        warn(f"NOT SHOWN: {left} more lines; give --whole to see all {len(lines)}")
    if review.suspicious:
        warn("there are characters that hide, reorder or imitate others: see ATTENTION on the page")
    return not left


def local_account() -> str:
    """Who runs this, for the access log: the account of the operating system."""
    name = str(os.getuid())
    with suppress(KeyError):  # an account without a name, as in containers
        name = pwd.getpwuid(os.getuid()).pw_name
    return f"account:{name}"
