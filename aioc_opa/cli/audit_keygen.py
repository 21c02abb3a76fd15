"""`aioc-opa audit keygen`: a key that signs checkpoints and anchors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.terminal import json_line, say, warn

HELP: Final = """Make a key that signs an audit log, and print its public half.

The private key (mode 600) stays with the writer. The public half goes to auditors, by a way that the writer's operator
does not control: whoever can give them another key can give them another log. With --writer it says whose checkpoints
the key may sign, so that who has one writer's key cannot sign another one's log: give each writer a key of its own.
Both halves say so: a writer of another name refuses the key, and `audit verify` its checkpoints.

\b
Exit status: 0 written; 2 wrong usage; 3 there is such a file already, or it cannot be written.

\b
Examples:
  aioc-opa audit keygen api-1.key --public api-1.pub.json --writer api-1
  aioc-opa audit keygen anchor.key --public anchor.pub.json
"""


def keygen(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file of the private key.")],
    *,
    public: Annotated[
        Path | None, typer.Option("--public", metavar="F", help="A new file for the public half, as --keys takes it.")
    ] = None,
    writer: Annotated[
        list[str] | None,
        typer.Option("--writer", metavar="NAME", help="Whose checkpoints the key may sign; several times; else any."),
    ] = None,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit.keys import AuditKey  # noqa: PLC0415 - an optional dependency
    from aioc_opa.models.audit_record import WRITER_NAME  # noqa: PLC0415 - with the rest of the room

    writers = tuple(dict.fromkeys(writer or ()))
    for name in writers:
        if WRITER_NAME.fullmatch(name) is None:
            raise typer.BadParameter("--writer: a writer's name is 1 to 64 ASCII letters, digits, '_' and '-'")
    key = AuditKey.generate(writers=writers)
    key.save(out)
    if public is not None:
        key.save_public(public)
    say(json_line(key.public_entry()))
    warn("the line above is the public entry, for the list `keys` of the file that --keys names")
