"""`aioc-opa audit keygen`: a key that signs checkpoints and anchors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.terminal import json_line, say, warn

HELP: Final = """Make a key that signs an audit log, and print its public half.

The private key (mode 600) stays with the writer. The public half goes to auditors, by a way that the writer's operator
does not control: whoever can give them another key can give them another log.

\b
Exit status: 0 written; 2 wrong usage; 3 there is such a file already, or it cannot be written.

\b
Examples:
  aioc-opa audit keygen writer.key --public writer.pub.json
"""


def keygen(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file of the private key.")],
    *,
    public: Annotated[
        Path | None, typer.Option("--public", metavar="F", help="A new file for the public half, as --keys takes it.")
    ] = None,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit.keys import AuditKey  # noqa: PLC0415 - an optional dependency

    key = AuditKey.generate()
    key.save(out)
    if public is not None:
        key.save_public(public)
    say(json_line(key.public_entry()))
    warn("the line above is the public entry, for the list `keys` of the file that --keys names")
