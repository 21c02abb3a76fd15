"""`aioc-opa audit anchor`: take what is signed out of the reach of who writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.audit_options import DEFAULT_NAME, AnchorNameOption, KeysOption, LogArgument
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, shown, warn

HELP: Final = """Verify logs, and anchor the latest checkpoint of every writer as a signed note (https://c2sp.org/signed-note).

Run it by a clock, and keep the note where the writers cannot write: what an anchor names cannot be changed, cut off or
left out unnoticed any more. Nothing is anchored when something is found. A key of its own for anchors, on another
machine than the writers', makes them worth more.

\b
Exit status: 0 anchored; 1 something found in the log, or the receiver has not taken the anchor; 2 wrong usage; 3 a file
cannot be read or written, or there is no checkpoint yet.

\b
Examples:
  aioc-opa audit anchor audit/ --keys writer.pub.json --signing-key anchor.key --out anchors/2026-07-15.note
  AIOC_OPA_AUDIT_WEBHOOK_SECRET=whsec_… aioc-opa audit anchor audit/ --keys writer.pub.json \\
    --signing-key anchor.key --url https://audit.example/anchors
"""


def anchor(
    log: LogArgument,
    *,
    keys: KeysOption,
    signing_key: Annotated[
        Path, typer.Option("--signing-key", metavar="F", help="Key that signs the note (mode 600).")
    ],
    anchor_name: AnchorNameOption = DEFAULT_NAME,
    out: Annotated[Path | None, typer.Option("--out", metavar="F", help="A new file for the note.")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Post the note there (https).")] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            envvar="AIOC_OPA_AUDIT_WEBHOOK_SECRET",
            metavar="TEXT",
            help="whsec_…, shared with the receiver; better given by the variable.",
        ),
    ] = None,
) -> None:
    """The command; see `HELP`. Without --out and --url the note goes to standard output."""
    logs.configure(verbose=False)
    from aioc_opa.approvals.webhook_signature import secret_of_text  # noqa: PLC0415 - with the rest of the approvals
    from aioc_opa.audit import anchoring, verifier  # noqa: PLC0415 - an optional dependency
    from aioc_opa.audit.keys import AuditKey, read_public_keys  # noqa: PLC0415 - likewise
    from aioc_opa.audit.sources import open_source  # noqa: PLC0415 - likewise

    if (url is None) != (secret is None):
        raise typer.BadParameter("--url needs --secret, and --secret is for --url")
    shared = None if secret is None else secret_of_text(secret)
    believed, key = read_public_keys(*keys), AuditKey.load(signing_key)
    report = verifier.verify(open_source(log), believed)
    if not report.sound:
        warn(f"{len(report.findings)} found, nothing was anchored: see `aioc-opa audit verify`")
        raise typer.Exit(int(ExitStatus.DIFFERENT))
    note = anchoring.make_anchor(report.checkpoints, key, key_name=anchor_name)
    if out is not None:
        anchoring.write_anchor(note, out)
        say(f"{shown(out)}: {len(report.checkpoints)} writers")
    if url is not None and shared is not None:
        try:
            anchoring.send_anchor(note, url, shared)
        except anchoring.AnchorNotSentError as error:
            warn(f"the receiver has not taken the anchor: {shown(error)}")
            raise typer.Exit(int(ExitStatus.DIFFERENT)) from None
        say("the receiver has taken the anchor")
    if out is None and url is None:
        sys.stdout.write(note)
