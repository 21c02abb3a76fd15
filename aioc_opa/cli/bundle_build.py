"""`aioc-opa bundle build`: from a policy folder to a bundle."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.bundle_options import OpaBinaryOption, OutOption, write_whole
from aioc_opa.cli.routes import DEFAULT_FOLDER, PolicyFolder
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.core.bundles.revision import MAX_COUNTER
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.packs.bundle_build import BundleTerms, build_bundle
from aioc_opa.packs.bundle_parts import Part

HELP: Final = """Build an OPA bundle of a policy folder.

Refused are findings of the lint, stale routes, and builtins that reach out or vary. The revision is
COUNTER-<sha256 of the content>; the same content and options give the same bytes. Raise the counter with every
bundle. --minimum-counter withdraws the ones before: `bundle verify --after` refuses what is below it.

--only and --without build one policy as several bundles with disjoint roots, for several teams. The whole folder is
checked all the same.

\b
Exit status: 0 written; 2 wrong usage; 3 the policy is refused, or `opa` or a file cannot be used.

\b
Examples:
  aioc-opa bundle build rego --name tools --counter 7 --owner payments@example.com -o tools.tar.gz
  aioc-opa bundle build rego --name tools --counter 8 --owner payments@example.com \\
    --expires 2027-01-01T00:00:00Z --minimum-counter 7 -o tools.tar.gz
  aioc-opa bundle build rego --name airline --counter 1 --owner airline-team --only aioc/packs/airline -o airline.tar.gz
"""


def build(
    folder: PolicyFolder = DEFAULT_FOLDER,
    *,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The bundle's name: a-z 0-9 . _ -")],
    counter: Annotated[
        int, typer.Option("--counter", min=0, max=MAX_COUNTER, metavar="N", help="Above that of the bundle before.")
    ],
    owner: Annotated[list[str], typer.Option("--owner", metavar="WHO", help="Who answers for it; repeatable.")],
    out: OutOption,
    minimum_counter: Annotated[
        int, typer.Option("--minimum-counter", min=0, metavar="N", help="Bundles below this counter are withdrawn.")
    ] = 0,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="RFC 3339, in the future; from then on it is refused."),
    ] = None,
    created: Annotated[
        str | None, typer.Option("--created", metavar="TIME", help="RFC 3339, to be written down. Default: none.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="PLACE", help="Only this place below data; repeatable.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="PLACE", help="All but this place; repeatable.")
    ] = None,
    opa_binary: OpaBinaryOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    terms = BundleTerms(
        name=name,
        counter=counter,
        minimum_counter=minimum_counter,
        owners=owner,
        created_at=created,
        expires_at=expires,
    )
    part = Part(only=tuple(only or ()), without=tuple(without or ()))
    built = build_bundle(folder, terms, opa_binary=find_opa_binary(opa_binary).path, part=part)
    write_whole(out, built.archive)
    if json:
        say(json_line({"bundle": str(out), "name": name, "revision": str(built.revision)}))
    else:
        say(f"{shown(out)}: {name} {built.revision}")
