"""The options that say which policy revisions count, and the gate they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.core.bundles.revision import MAX_COUNTER
from aioc_opa.revision_gates import AllOf, MinimumCounters, NamedRevisions

if TYPE_CHECKING:
    from aioc_opa.revision_gate import RevisionGate

AcceptRevisionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-revision",
        metavar="[BUNDLE=]REVISION",
        help="Deny under any other policy revision; repeatable. BUNDLE is `local` by default: the one of --policy.",
    ),
]
MinCounterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--min-counter",
        metavar="[BUNDLE=]N",
        help="Deny under a bundle below this counter, or under one that is not named; repeatable.",
    ),
]

_LOCAL: Final = "local"


def revision_gate(accepted: list[str] | None, minimum: list[str] | None) -> RevisionGate | None:
    """The gate of both options; None when neither is given.

    Raises:
        typer.BadParameter: one of them is not what it should be.
    """
    gates: list[RevisionGate] = []
    if accepted:
        named: dict[str, list[str]] = {}
        for text in accepted:
            bundle, revision = _split("--accept-revision", text)
            named.setdefault(bundle, []).append(revision)
        gates.append(NamedRevisions(named))
    if minimum:
        counters: dict[str, int] = {}
        for text in minimum:
            bundle, number = _split("--min-counter", text)
            if not (number.isascii() and number.isdigit()) or int(number) > MAX_COUNTER or bundle in counters:
                raise typer.BadParameter("--min-counter: a number, once for each bundle")
            counters[bundle] = int(number)
        gates.append(MinimumCounters(counters))
    return AllOf(*gates) if gates else None


def _split(option: str, text: str) -> tuple[str, str]:
    bundle, found, value = text.rpartition("=")
    if not value or (found and not bundle):
        raise typer.BadParameter(f"{option}: [BUNDLE=]VALUE, such as tools=7")
    return bundle or _LOCAL, value
