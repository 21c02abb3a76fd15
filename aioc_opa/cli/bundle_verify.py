"""`aioc-opa bundle verify`: signature, content, expiry, counter and roots of bundles, without a server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.bundle_verification import BundleDemands, verify_bundles
from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.bundle_options import (
    DEFAULT_ALGORITHM,
    AlgorithmOption,
    OpaBinaryOption,
    PublicKeyOption,
    ScopeOption,
    verification,
)
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.core.bundles.revision import MAX_COUNTER, parse_revision
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.packs.bundle_checks import Predecessor, predecessor
from aioc_opa.packs.bundle_file import read_bundle, require_bundle_file

if TYPE_CHECKING:
    from aioc_opa.packs.bundle_checks import BundleCheck

HELP: Final = """Verify bundles offline: signature, content, expiry, counter, roots.

It needs: every bundle that one OPA is to activate; --public-key, the PEM file of the PUBLIC key that signed them (or
--unsigned); and an `opa` binary. It needs no server and no network. Say with --after what was accepted before (the
bundle's file, or its revision), or a rollback cannot be seen.

The bundles' roots must be disjoint, and together they must be a whole policy with current routes, in which every table
that a pack declares has an owner. With --unsigned no signature is verified: a preflight, not a proof.

\b
Exit status: 0 all that was asked for holds; 1 something does not; 2 wrong usage; 3 a file or `opa` cannot be used.

\b
Examples:
  aioc-opa bundle verify tools.tar.gz --public-key signing.pub.pem --min-counter 7
  aioc-opa bundle verify new.tar.gz --public-key signing.pub.pem --after accepted.tar.gz
  aioc-opa bundle verify new.tar.gz --public-key signing.pub.pem --after tools=7-SHA256
  aioc-opa bundle verify platform.tar.gz airline.tar.gz --public-key signing.pub.pem
"""


def verify(
    bundles: Annotated[list[Path], typer.Argument(metavar="BUNDLE…", help="Those that one OPA is to activate.")],
    *,
    public_key: PublicKeyOption = None,
    unsigned: Annotated[bool, typer.Option("--unsigned", help="Do not ask for a signature.")] = False,
    algorithm: AlgorithmOption = DEFAULT_ALGORITHM,
    scope: ScopeOption = None,
    min_counter: Annotated[
        int | None,
        typer.Option("--min-counter", min=0, max=MAX_COUNTER, metavar="N", help="Least counter of every bundle."),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="BUNDLE|[NAME=]REVISION",
            help="One accepted before: no lower counter, nor the same with other content; repeatable.",
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="RFC 3339: verify as of then. Default: now.")
    ] = None,
    opa_binary: OpaBinaryOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    if (public_key is None) != unsigned:
        raise typer.BadParameter(
            "give --public-key PEM, the public key that signed the bundle, or say --unsigned; not both"
        )
    moment = datetime.now(UTC) if at is None else parse_rfc3339(at)
    if moment is None:
        raise typer.BadParameter("--at: an RFC 3339 time such as 2026-07-01T12:00:00Z")
    for path in bundles:
        require_bundle_file(path)  # a name that is wrong is no bundle that failed
    demanded = verification(public_key, algorithm, scope)
    earlier = [_predecessor(text) for text in after or ()]
    demands = BundleDemands(signature=demanded, at=moment, minimum_counter=min_counter, after=earlier)
    report = verify_bundles(bundles, demands, binary=find_opa_binary(opa_binary))
    if json:
        found = {
            "ok": report.ok,
            "bundles": [
                {
                    "bundle": str(each.path),
                    "checks": [_as_json(check) for check in each.checks],
                    "statement": each.bundle.statement.model_dump(mode="json", by_alias=True) if each.bundle else None,
                }
                for each in report.bundles
            ],
            "together": [_as_json(check) for check in report.together],
        }
        say(json_line(found))
    else:
        for each in report.bundles:
            say(f"{shown(each.path)}")
            for check in each.checks:
                _print(check)
        say("together" if len(report.bundles) > 1 else "as OPA would activate it")
        for check in report.together:
            _print(check)
        say("verified" if report.ok else "NOT verified")
    raise typer.Exit(int(ExitStatus.OK if report.ok else ExitStatus.DIFFERENT))


def _predecessor(text: str) -> Predecessor:
    name, named, revision = text.rpartition("=")
    found = parse_revision(revision)
    if found is not None and bool(name) == bool(named):
        return Predecessor(name=name or None, revision=found)
    return predecessor(read_bundle(Path(text)))


def _print(check: BundleCheck) -> None:
    mark = {True: "ok", False: "FAILS", None: "-"}[check.ok]
    first, *more = (shown(line, longest=4000) for line in check.text.split("\n"))
    say(f"  {mark:6}{check.check:11}{first}")
    for line in more:
        say(f"{'':19}{line}")


def _as_json(check: BundleCheck) -> dict[str, object]:
    return {"check": check.check, "ok": check.ok, "text": check.text}
