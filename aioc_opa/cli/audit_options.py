"""What the `audit` commands are told."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.audit.reading import Selection
from aioc_opa.core.rfc3339 import parse_rfc3339

LogArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        envvar="AIOC_OPA_AUDIT_LOG",
        help="Folder of JSON Lines, SQLite file or postgresql://…; a URL with a password is better given by "
        "AIOC_OPA_AUDIT_LOG.",
        show_envvar=False,
    ),
]
KeysOption = Annotated[
    list[Path],
    typer.Option("--keys", metavar="F", help="Public keys of writers, as `audit keygen` writes them; several times."),
]
AnchorKeysOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--anchor-keys",
        metavar="F",
        help="Public keys that anchors are believed by: not the writer's; several times.",
    ),
]
WriterOption = Annotated[
    list[str] | None, typer.Option("--writer", metavar="NAME", help="Only this writer's; several times.")
]
KindOption = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only events of this kind; several times.")
]
ToolOption = Annotated[
    list[str] | None, typer.Option("--tool", metavar="NAME", help="Only this tool's; several times.")
]
DecisionOption = Annotated[
    list[str] | None, typer.Option("--decision", metavar="WORD", help="allow, deny, …; several times.")
]
ReasonOption = Annotated[
    list[str] | None, typer.Option("--reason", metavar="CODE", help="Only with this reason; several times.")
]
IdentityOption = Annotated[
    list[str] | None, typer.Option("--identity", metavar="ID", help="Only this principal's; several times.")
]
TenantOption = Annotated[
    list[str] | None, typer.Option("--tenant", metavar="T", help="Only this tenant's; several times.")
]
RunOption = Annotated[list[str] | None, typer.Option("--run", metavar="ID", help="Only this run's; several times.")]
CallOption = Annotated[list[str] | None, typer.Option("--call", metavar="ID", help="Only this call's; several times.")]
ApprovalOption = Annotated[
    list[str] | None, typer.Option("--approval", metavar="ID", help="Only of this approval; several times.")
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From this time on (RFC 3339), by the writers' clocks.")
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time (RFC 3339).")]

DEFAULT_NAME: Final = "aioc-opa/audit"
AnchorNameOption = Annotated[
    str, typer.Option("--anchor-name", metavar="NAME", help="Name of the key in the anchor's note.")
]

AnchorAgeOption = Annotated[
    str | None,
    typer.Option(
        "--anchor-not-older-than",
        metavar="AGE",
        help="Each writer's latest anchor must be of then or later: an age such as 36h, 7d, 90m, or an RFC 3339 time.",
    ),
]
_AGE: Final = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def moment_of_age(option: str, text: str | None) -> str | None:
    """The time that an age or a time names, as anchors have it: in UTC with milliseconds.

    Raises:
        typer.BadParameter: it is neither.
    """
    match = None if text is None else _AGE.fullmatch(text)
    if match is None:
        return _instant(option, text, "an age such as 36h or 7d, or ")
    try:
        return _written(datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])}))
    except OverflowError:
        raise typer.BadParameter(f"{option}: there was no time so long ago") from None


def selection(
    *,
    writer: list[str] | None,
    kind: list[str] | None,
    tool: list[str] | None,
    decision: list[str] | None,
    reason: list[str] | None,
    identity: list[str] | None,
    tenant: list[str] | None,
    run: list[str] | None,
    call: list[str] | None = None,
    approval: list[str] | None = None,
    since: str | None,
    until: str | None,
) -> Selection:
    """The records that the options ask for.

    Raises:
        typer.BadParameter: a time is none.
    """
    return Selection(
        writers=frozenset(writer or ()),
        kinds=frozenset(kind or ()),
        tools=frozenset(tool or ()),
        decisions=frozenset(decision or ()),
        reasons=frozenset(reason or ()),
        identities=frozenset(identity or ()),
        tenants=frozenset(tenant or ()),
        runs=frozenset(run or ()),
        calls=frozenset(call or ()),
        approvals=frozenset(approval or ()),
        since=_instant("--since", since),
        until=_instant("--until", until),
    )


def _instant(option: str, text: str | None, also: str = "") -> str | None:
    """The time as records have it, in UTC with milliseconds, so that texts compare as times."""
    if text is None:
        return None
    moment = parse_rfc3339(text)
    if moment is None:
        raise typer.BadParameter(f"{option}: give {also}a time such as 2026-07-15T09:00:00Z")
    return _written(moment)


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
