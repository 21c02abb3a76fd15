"""`aioc-opa new policy` and `aioc-opa new pack`: what works as it stands, to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.app import add, make_app
from aioc_opa.cli.routes import DEFAULT_FOLDER
from aioc_opa.cli.terminal import say, shown, warn
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.starter import new_policy

POLICY_HELP: Final = """Write a policy folder to start from: the Rego library, no packs, owners of no tool, routes.

It passes the lint, `opa check` and `opa test`, and denies every call until a pack owns the tool: go on with `new pack`.

\b
Exit status: 0 written; 2 wrong usage; 3 the folder holds something already, or cannot be written.

\b
Examples:
  aioc-opa new policy my-policy
  aioc-opa new policy my-policy && aioc-opa new pack payments --policy my-policy --tool transfer_funds
"""

HELP: Final = """Write a new pack: rules, their tests, data with a manifest, samples, README.

It becomes the owner of --tool, and the routes are written anew. What is written passes the lint and `opa test`.

\b
Exit status: 0 written; 2 wrong usage; 3 the folder is refused, or has the pack already.

\b
Examples:
  aioc-opa new pack payments --tool transfer_funds
  aioc-opa new pack payments --tool transfer_funds --policy policies/rego
"""

app: Final = make_app("Start something new.")


def policy(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new folder; not there yet, or empty.")],
) -> None:
    """The command; see `POLICY_HELP`."""
    logs.configure(verbose=False)
    for path in new_policy(folder):
        say(shown(path))
    warn(f"next: aioc-opa new pack NAME --policy {shown(folder)} --tool TOOL; until a pack owns a tool it is denied")


def pack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="[a-z][a-z0-9_]*: the folder and the package.")],
    *,
    policy: Annotated[
        Path, typer.Option("--policy", metavar="DIR", help="Policy folder: the one that holds aioc/.")
    ] = DEFAULT_FOLDER,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="TOOL", help="The tool to own; NAME_example without one.")
    ] = None,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    for path in new_pack(name, policy, tool=tool):
        say(shown(path))


add(app, "policy", policy, POLICY_HELP)
add(app, "pack", pack, HELP)
