"""Verifies audit logs from files and public keys alone: the writer is not asked, and not believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aioc_opa.audit.findings import Finding, VerificationReport, WriterReport
from aioc_opa.audit.keys import PublicKeys
from aioc_opa.audit.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from aioc_opa.audit.sources import LogSource
    from aioc_opa.core.audit.anchors import Anchor


def verify(
    source: LogSource,
    keys: Mapping[str, bytes],
    *,
    anchors: Sequence[Anchor] = (),
    expected_writers: Collection[str] = (),
    anchors_not_before: str | None = None,
) -> VerificationReport:
    """Verify every log of a source.

    Args:
        source: the logs.
        keys: public keys that are believed, by id; `PublicKeys` also say for whom.
        anchors: that `aioc_opa.audit.anchoring` has read, and so believes.
        expected_writers: names that must have a log here.
        anchors_not_before: the latest anchor of each writer that one names must have been taken then or later, RFC 3339
            in UTC with milliseconds.

    Raises:
        InputFileError: the source cannot be read.
        ConfigurationError: the extra `approvals` is not installed.
    """
    anchored = {head.writer for anchor in anchors for head in anchor.heads}
    found = source.writers()
    names = sorted({*found, *expected_writers, *anchored})
    believed = keys if isinstance(keys, PublicKeys) else PublicKeys(keys)
    reports = [_verified(source, writer, believed, anchors, there=writer in found) for writer in names]
    return VerificationReport(tuple(reports), tuple(anchors), anchors_not_before)


def _verified(
    source: LogSource, writer: str, keys: PublicKeys, anchors: Sequence[Anchor], *, there: bool
) -> WriterReport:
    heads = [head for anchor in anchors for head in anchor.heads if head.writer == writer]
    known: dict[int, set[str]] = {}
    for head in heads:
        known.setdefault(head.sequence, set()).add(head.hash)
    acknowledged, unreadable = None, False
    if there:
        try:
            acknowledged = source.acknowledged(writer)
        except ValueError:
            unreadable = True
    log_ids = {head.log_id for head in heads}
    walk = Walk(writer, keys=keys, known=known, acknowledged=acknowledged, log_ids=log_ids)
    for line in source.lines(writer) if there else ():
        walk.take(line)
    report = walk.finish()
    more = [Finding("head_unreadable", writer, place=f"{writer}.head")] if unreadable else []
    if not there and not report.findings:
        more.append(Finding("missing_writer", writer))
    return replace(report, findings=(*report.findings, *more))
