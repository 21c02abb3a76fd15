"""`aioc-opa audit verify`: is this log what its writers wrote?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.audit_options import (
    DEFAULT_NAME,
    AnchorAgeOption,
    AnchorKeysOption,
    AnchorNameOption,
    KeysOption,
    LogArgument,
    moment_of_age,
)
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.core.audit_report.visible import counted

if TYPE_CHECKING:
    from aioc_opa.audit.findings import Finding, VerificationReport, WriterReport

HELP: Final = """Verify audit logs from their files and public keys: nothing of the writer is asked or believed.

Found and named by record: edits, deletions, insertions, reordering, missing files, signatures of other keys; and what
was cut off the end or is missing altogether, as far as an anchor or a head file knows of it. For each range of records
it says what protects it:

\b
anchored     an anchor outside knows it: nobody who can write the log can change it unnoticed
signed       only whoever has the writer's key could write it anew, or cut it off
unprotected  written since the last checkpoint: whoever can write the log could; or, for good, found by a writer that
             went on after a crash: it has not seen it written, and does not vouch for it

An anchor that was taken long ago proves nothing of what came later. Each one is shown with its time and what it covers;
--anchor-not-older-than says how old the latest of each writer may be.

\b
Exit status: 0 nothing found; 1 something found, or the anchors are older than asked for; 2 wrong usage; 3 the log, a
key or an anchor cannot be read, or the anchor is not signed by a key that is believed.

\b
Examples:
  aioc-opa audit verify audit/ --keys writer.pub.json
  aioc-opa audit verify audit/ --keys writer.pub.json --expect-writer api-1
  aioc-opa audit verify audit.db --keys writer.pub.json --anchor latest.note --anchor-keys auditor.pub.json \\
    --anchor-not-older-than 36h --json
"""


_LISTED: Final = 200
"""Findings of one writer that are shown."""
_UNVOUCHED: Final = ", not vouched for: the writer found them when it went on, whoever left them there"


def verify(
    log: LogArgument,
    *,
    keys: KeysOption,
    anchor: Annotated[
        list[Path] | None, typer.Option("--anchor", metavar="F", help="An anchor of this log; several times.")
    ] = None,
    anchor_keys: AnchorKeysOption = None,
    anchor_name: AnchorNameOption = DEFAULT_NAME,
    expect_writer: Annotated[
        list[str] | None, typer.Option("--expect-writer", metavar="NAME", help="Must have a log here; several times.")
    ] = None,
    anchor_not_older_than: AnchorAgeOption = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    from aioc_opa.audit import verifier  # noqa: PLC0415 - an optional dependency
    from aioc_opa.audit.anchoring import read_anchor  # noqa: PLC0415 - likewise
    from aioc_opa.audit.keys import read_public_keys  # noqa: PLC0415 - likewise
    from aioc_opa.audit.sources import open_source  # noqa: PLC0415 - likewise

    believed = read_public_keys(*keys)
    if anchor and not anchor_keys:
        raise typer.BadParameter("--anchor needs --anchor-keys: an anchor of the writer's own key proves nothing more")
    not_before = moment_of_age("--anchor-not-older-than", anchor_not_older_than)
    if not_before is not None and not anchor:
        raise typer.BadParameter("--anchor-not-older-than needs --anchor")
    of_anchors = {} if not anchor_keys else read_public_keys(*anchor_keys)
    anchors = [read_anchor(path, of_anchors, key_name=anchor_name) for path in anchor or ()]
    report = verifier.verify(
        open_source(log),
        believed,
        anchors=anchors,
        expected_writers=expect_writer or (),
        anchors_not_before=not_before,
    )
    if json:
        say(json_line(report_document(report)))
    else:
        _show(report)
    if not report.sound:
        raise typer.Exit(int(ExitStatus.DIFFERENT))


def report_document(report: VerificationReport) -> dict[str, object]:
    """The report as a JSON document."""
    return {
        "sound": report.sound,
        "anchors": report.anchors,
        "anchorsTooOld": report.too_old,
        "compared": [
            {"at": each.at, "covers": [{"writer": head.writer, "sequence": head.sequence} for head in each.heads]}
            for each in report.compared
        ],
        "writers": [_document(one) for one in report.writers],
    }


def _document(one: WriterReport) -> dict[str, object]:
    return {
        "writer": one.writer,
        "logId": one.log_id,
        "records": one.records,
        "firstAt": one.first_at,
        "lastAt": one.last_at,
        "ranges": [
            {"first": part.first, "last": part.last, "protection": part.protection, "vouched": part.vouched}
            for part in one.ranges
        ],
        "findings": [
            {
                "code": finding.code,
                "sequence": finding.sequence,
                "last": finding.last,
                "place": finding.place,
                "meaning": _meaning(finding),
            }
            for finding in one.findings
        ],
        "eventsDropped": one.dropped,
        "tornRepaired": one.repaired,
        "tornRepairedBytes": one.repaired_bytes,
        "tornBytes": one.torn_bytes,
        "keys": list(one.keys),
    }


def _meaning(finding: Finding) -> str:
    from aioc_opa.audit.findings import MEANING  # noqa: PLC0415 - with the rest of the room

    return MEANING[finding.code]


def _show(report: VerificationReport) -> None:
    if not report.writers:
        say("there is no log here")
    for one in report.writers:
        times = "" if one.first_at is None else f", {one.first_at} to {one.last_at}"
        say(f"{shown(one.writer)}: {one.records} records{times}")
        for part in one.ranges:
            say(f"  {part.first}-{part.last} {part.protection}{'' if part.vouched else _UNVOUCHED}")
        if one.keys:
            say(f"  signed by {', '.join(map(shown, one.keys))}")
        if one.dropped:
            say(f"  the log says that up to {one.dropped} events are not in it")
        if one.repaired:
            say(f"  {one.repaired} writes were cut off ({one.repaired_bytes} bytes), and repaired")
        if one.torn_bytes:
            say(f"  {one.torn_bytes} bytes after the last record: a write that was cut off and is not repaired yet")
        for finding in one.findings[:_LISTED]:
            say(f"  FOUND {finding.code}{_where(finding)}: {_meaning(finding)}")
        if len(one.findings) > _LISTED:
            say(f"  … {len(one.findings) - _LISTED} more of {shown(one.writer)}: --json lists every one")
    for each in report.compared:
        covers = ", ".join(f"{shown(head.writer)} up to {head.sequence}" for head in each.heads)
        say(f"anchor of {each.at}: {covers}")
    if report.too_old:
        say(f"FOUND anchor_too_old: no anchor is of {report.not_before} or later for every writer that one names")
    count = len(report.findings) + report.too_old
    against = f", against {counted(report.anchors, 'anchor')}" if report.anchors else "; no anchor was given"
    say(f"{count or 'nothing'} found{against}")


def _where(finding: Finding) -> str:
    parts = []
    if finding.sequence is not None:
        parts.append(f"record {finding.sequence}" if finding.last is None else f"{finding.sequence}-{finding.last}")
    if finding.place is not None:
        parts.append(shown(finding.place))
    return f" ({', '.join(parts)})" if parts else ""
