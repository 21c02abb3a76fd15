"""`aioc-opa routes`: write the generated routes of a policy folder, or say whether they are current."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, shown, warn
from aioc_opa.errors import InputFileError
from aioc_opa.packs.routes import ROUTES_FILE
from aioc_opa.packs.routes_file import routes_are_current, write_routes

HELP: Final = """Write aioc/routes/routes.rego from the owners and the packs' manifests.

Run it after a pack, an owner or a manifest has changed. A policy whose routes are stale is not loaded.

\b
Exit status: 0 written, or current; 1 --check, and they are stale; 2 wrong usage; 3 the folder is refused.

\b
Examples:
  aioc-opa routes
  aioc-opa routes policies/rego --check
"""

PolicyFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Policy folder: the one that holds aioc/.")]
DEFAULT_FOLDER: Final = Path("rego")


def routes(
    folder: PolicyFolder = DEFAULT_FOLDER,
    *,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say whether they are current.")] = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    if not folder.exists():
        raise InputFileError(f"{folder}: no such folder")
    file = shown(folder / ROUTES_FILE)
    if not check:
        say(f"{file}: {'written' if write_routes(folder) else 'current'}")
    elif routes_are_current(folder):
        say(f"{file}: current")
    else:
        warn(f"{file}: stale; run: aioc-opa routes {shown(folder)}")
        raise typer.Exit(int(ExitStatus.DIFFERENT))
