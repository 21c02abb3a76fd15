"""`aioc-opa approvals keygen`: a key that signs votes, or one that encrypts stored arguments."""

from __future__ import annotations

import base64
import json as json_module
import os
import secrets
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.terminal import json_line, say, warn
from aioc_opa.errors import InputFileError

HELP: Final = """Make a key file (mode 600), and print its public entry for the file of keys that guards hold.

--person makes a person's own key: it signs for this person and the --role's only, and its account (--issuer, --subject)
is that of the person in the file of people. --authority makes the application's key, which signs for whoever the
application has authenticated. --payload makes a key that encrypts stored arguments, and prints nothing of it.

\b
Exit status: 0 written; 2 wrong usage; 3 there is such a file already, or it cannot be written.

\b
Examples:
  aioc-opa approvals keygen ann.key --person ann --issuer https://id.example --subject 4711 --role manager
  aioc-opa approvals keygen authority.key --authority
  aioc-opa approvals keygen payload.key --payload
"""

_BYTES: Final = 32


def keygen(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file.")],
    *,
    person: Annotated[str | None, typer.Option("--person", metavar="ID", help="Whose key: a personId.")] = None,
    issuer: Annotated[
        str | None, typer.Option("--issuer", metavar="TEXT", help="Issuer of the person's account.")
    ] = None,
    subject: Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="The account there.")] = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A role that it may vote in; several times.")
    ] = None,
    authority: Annotated[bool, typer.Option("--authority", help="The application's approval authority.")] = False,
    payload: Annotated[bool, typer.Option("--payload", help="A key for stored arguments.")] = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    if [person is not None, authority, payload].count(True) != 1:
        raise typer.BadParameter("give one of --person ID, --authority and --payload")
    if person is not None and not (issuer and subject and role):
        raise typer.BadParameter("--person needs --issuer, --subject and at least one --role")
    if person is None and (issuer or subject or role):
        raise typer.BadParameter("--issuer, --subject and --role are for --person")
    if payload:
        _write_payload_key(out)
        warn("keep it outside the database and its backups; without it the arguments cannot be read")
        return
    from aioc_opa.approvals.keys import AccountHolder, AuthorityHolder, SigningKey  # noqa: PLC0415 - an optional dependency

    holder = AuthorityHolder() if person is None else AccountHolder(person, issuer or "", subject or "")
    key = SigningKey.generate(holder=holder)
    entry = key.public_entry(roles=role or ())
    key.save(out)
    say(json_line(entry.to_json()))
    warn("the line above is the public entry, for the list `keys` of the file that --keys names")


def _write_payload_key(path: Path) -> None:
    key_id = f"payload-{secrets.token_hex(4)}"
    document = {"active": key_id, "keys": {key_id: base64.b64encode(secrets.token_bytes(_BYTES)).decode()}}
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - Path.open cannot take a descriptor
            file.write(json_module.dumps(document, indent=2) + "\n")
    except FileExistsError:
        raise InputFileError(f"{path}: is there already; a key is never written over another") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{path}: cannot be written: {reason or type(error).__name__}") from None
