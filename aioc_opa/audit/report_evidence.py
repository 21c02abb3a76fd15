"""The sections of a report on what the figures stand on: revisions, writers and verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.findings import MEANING
from aioc_opa.audit.report_blocks import Data, Notice, Paragraph, Section, Table, span
from aioc_opa.audit.report_decisions import WORDS
from aioc_opa.core.audit_report.timeline import seconds_of
from aioc_opa.core.audit_report.visible import counted, number_text, revision_text, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.audit.findings import Finding, VerificationReport
    from aioc_opa.audit.report_blocks import Bar, Block, Cell, Look
    from aioc_opa.audit.report_reading import Reading
    from aioc_opa.core.audit_report.collector import Figures
    from aioc_opa.core.audit_report.revisions import Revision

_LISTED_FINDINGS: Final = 50
_LISTED_REVISIONS: Final = 30
_LISTED_WRITERS: Final = 200


def status(reading: Reading) -> tuple[str, str, Look]:
    """The verification in a word, with what to add."""
    report = reading.verification
    if report is None:
        return "not done", "no public key was given", "neutral"
    if not report.sound:
        return f"{number_text(len(report.findings))} found", "see below", "deny"
    against = f"{report.anchors} anchors" if report.anchors != 1 else "1 anchor"
    return "nothing found", f"against {against}" if report.anchors else "no anchor was given", "allow"


def revisions(figures: Figures, limit: int) -> Section:
    """Which policy decided."""
    ordered = figures.revisions.ordered()
    blocks: list[Block] = []
    if ordered:
        shown = ordered[-_LISTED_REVISIONS:]
        more = len(ordered) - len(shown)
        digests = any(one.digests for one in shown)
        rows = tuple(_revision(one, digests=digests) for one in shown)
        note = f"The last {len(shown)} of {number_text(len(ordered))} by first appearance." if more else ""
        table = Table(
            caption="Policy revisions, in the order in which they first decided",
            columns=(
                "revision",
                *(("bundle digest",) if digests else ()),
                "first decision",
                "last decision",
                "decisions",
            ),
            rows=rows,
            bars=_spans(shown),
            note=note,
        )
        blocks.append(table)
    if figures.revisions.passed_over:
        count = counted(figures.revisions.passed_over, "decision")
        blocks.append(Notice("warn", f"More revisions than a report keeps: {count} under others are not in the table."))
    if figures.revisions.unnamed:
        count = counted(figures.revisions.unnamed, "decision")
        blocks.append(Paragraph(f"Without a revision: {count}. Policy was not asked, gave no answer, or named none."))
    engines = figures.engines.top(limit)
    if engines.rows:
        names: list[tuple[Cell, ...]] = [
            (Data(visible(one.name)) if one.name else "none (policy was not asked)", *one.counts, one.total)
            for one in engines.rows
        ]
        if engines.other_names:
            names.append((f"other ({engines.other_names} more)", *engines.others, sum(engines.others)))
        blocks.append(
            Table(caption="Engines that evaluated them", columns=("engine", *WORDS, "all"), rows=tuple(names))
        )
    return Section(
        "revisions", "Policy in force", tuple(blocks) or (Paragraph("No decision of policy is in these records."),)
    )


def verification(reading: Reading) -> Section:
    """Whether the log is what its writers wrote, as far as that can be checked."""
    report = reading.verification
    blocks: list[Block] = []
    if reading.passed_over:
        count = counted(reading.passed_over, "line")
        blocks.append(Notice("bad", f"Not counted: {count} that no record of the log's writer stands in."))
    if report is None:
        text = (
            "The log was not verified, because no public key was given. Each record has its own hash, and that is all "
            "that was checked: whoever can write the log can have written these figures."
        )
        blocks.append(Notice("warn", text))
    elif not report.sound:
        text = (
            f"{number_text(len(report.findings))} found: the log is not what its writers wrote, or not all of it. The "
            "figures on this page count what stands there now."
        )
        blocks += [Notice("bad", text), _findings(report.findings)]
    elif report.anchors:
        blocks.append(
            Notice("good", "Nothing found. What an anchor knows could not have been changed or cut off unnoticed.")
        )
    else:
        text = (
            "Nothing found. No anchor was given: what was cut off the end, or written anew by whoever has a key, "
            "cannot be seen."
        )
        blocks.append(Notice("good", text))
    if report is not None:
        blocks.append(_ranges(report))
    blocks.append(_writers(reading.figures))
    return Section("verification", "Verification", tuple(blocks))


def _revision(one: Revision, *, digests: bool) -> tuple[Cell, ...]:
    named = (Data(", ".join(visible(each) for each in sorted(one.digests)) or "-"),) if digests else ()
    return Data(revision_text(one.text)), *named, one.first_at, one.last_at, one.decisions


def _spans(shown: Sequence[Revision]) -> tuple[Bar, ...]:
    times = [(seconds_of(one.first_at) or 0, seconds_of(one.last_at) or 0) for one in shown]
    start, end = min(first for first, _ in times), max(last for _, last in times)
    width = max(end - start, 1)
    return tuple(
        span((first - start) / width, (last - start) / width, f"{one.first_at} to {one.last_at}")
        for one, (first, last) in zip(shown, times, strict=True)
    )


def _findings(findings: Sequence[Finding]) -> Table:
    rows = tuple(
        (Data(visible(one.writer)), _records(one), Data(one.place or "-"), Data(one.code), MEANING[one.code])
        for one in findings[:_LISTED_FINDINGS]
    )
    more = len(findings) - len(rows)
    note = f"and {number_text(more)} more: see `aioc-opa audit verify`" if more else ""
    columns = ("writer", "records", "place", "code", "what it says")
    return Table(caption="Found", columns=columns, rows=rows, note=note)


def _records(one: Finding) -> str:
    if one.sequence is None:
        return "-"
    return str(one.sequence) if one.last is None else f"{one.sequence} to {one.last}"


def _ranges(report: VerificationReport) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for writer in report.writers[:_LISTED_WRITERS]:
        sizes = dict.fromkeys(("anchored", "signed", "unprotected"), 0)
        for part in writer.ranges:
            sizes[part.protection] += part.last - part.first + 1
        keys = ", ".join(visible(key) for key in writer.keys) or "-"
        rows.append((Data(visible(writer.writer)), *sizes.values(), len(writer.findings), Data(keys)))
    more = len(report.writers) - len(rows)
    return Table(
        caption="What protects the records of the whole log",
        columns=("writer", "anchored", "signed", "unprotected", "found", "keys that signed"),
        rows=tuple(rows),
        note="Anchored: known outside. Signed: whoever has the writer's key could write them anew, or cut them off. "
        "Unprotected: whoever can write the log could, or a writer that went on after a crash does not vouch for them."
        + (f" {number_text(more)} more writers." if more else ""),
    )


def _writers(figures: Figures) -> Table:
    named = sorted(figures.writers.values(), key=lambda one: one.writer)
    rows = tuple(
        (Data(one.writer), one.records, one.first_at or "-", one.last_at or "-", one.starts, one.checkpoints,
         one.dropped, one.repaired)
        for one in named[:_LISTED_WRITERS]
    )  # fmt: skip
    more = len(named) - len(rows)
    return Table(
        caption="Writers",
        columns=("writer", "records", "log begins", "log ends", "starts", "signatures", "dropped, at most", "repaired"),
        rows=rows,
        note="Numbers are of the period; the log's beginning and end are of all of it."
        + (f" {number_text(more)} more writers." if more else ""),
    )
