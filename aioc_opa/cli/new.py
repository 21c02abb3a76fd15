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
from aioc_opa.packs.scaffolding_rules import PackRules
from aioc_opa.packs.starter import new_policy

POLICY_HELP: Final = """Write a policy folder to start from: the Rego library, no packs, owners of no tool, routes.

It passes the lint, `opa check` and `opa test`, and denies every call until a pack owns the tool: go on with `new pack`.

\b
Exit status: 0 written; 2 wrong usage; 3 the folder holds something already, or cannot be written.

\b
Examples:
  aioc-opa new policy my-policy
  aioc-opa new policy my-policy && aioc-opa new pack mail --policy my-policy --tool send_email
"""

HELP: Final = """Write a new pack: rules, their tests, data with a manifest, samples, README.

It becomes the owner of every --tool, and the routes are written anew. What is written passes the lint and `opa test`,
and is a start: change the rules to yours.

\b
--rules says what it starts with:
  roles    fits any tool: who has no role of a table is denied, what the user has not confirmed is held
  amounts  for tools with an argument `amount`: an upper limit besides, nothing below zero, a verified customer

\b
Exit status: 0 written; 2 wrong usage; 3 the folder is refused, or has the pack already.

\b
Examples:
  aioc-opa new pack mail --policy my-policy --tool send_email --tool delete_email
  aioc-opa new pack payments --policy my-policy --tool transfer_funds --rules amounts
"""

app: Final = make_app("""Start something new.

\b
Example:
  aioc-opa new policy my-policy && aioc-opa new pack mail --policy my-policy --tool send_email
""")


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
        list[str] | None,
        typer.Option("--tool", metavar="TOOL", help="A tool to own, repeatable; NAME_example without one."),
    ] = None,
    rules: Annotated[
        PackRules, typer.Option("--rules", help="What the pack starts with.", show_default=True)
    ] = PackRules.ROLES,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    for path in new_pack(name, policy, tools=tool or (), rules=rules):
        say(shown(path))


add(app, "policy", policy, POLICY_HELP)
add(app, "pack", pack, HELP)
