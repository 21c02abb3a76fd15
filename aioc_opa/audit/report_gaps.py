"""The section of a report on what its log cannot show: in these records, and in any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.audit.report_blocks import Bullets, Paragraph, Section
from aioc_opa.core.audit_report.visible import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.audit.report_blocks import Block
    from aioc_opa.audit.report_reading import Reading


def gaps(reading: Reading) -> Section:
    """What this log cannot show."""
    here = tuple(_here(reading))
    always = (
        "Arguments, results, credentials and texts of errors: events have no field for them.",
        "What a call was to do, and whether policy judged it rightly.",
        "Calls that reached no guard, and calls whose arguments had no valid form: they are no decisions.",
        "Whether an effect happened in the world. A record says that a handler was entered, returned or raised.",
        "Whether a principal or a voter was the person of that name: names are what the application has given.",
        "The true time. Times are those of the writers' clocks.",
        "Writers that this page was not told of, unless an anchor or `--expect-writer` names them.",
        "This page counts records. It draws no legal conclusion.",
    )
    blocks: list[Block] = []
    if here:
        blocks += [Paragraph("In these records:"), Bullets(here)]
    blocks += [Paragraph("In any audit log of this kind:"), Bullets(always)]
    return Section("gaps", "What this log cannot show", tuple(blocks))


def _here(reading: Reading) -> Sequence[str]:
    figures = reading.figures
    found: list[str] = []
    dropped = sum(one.dropped for one in figures.writers.values())
    if dropped:
        found.append(f"Up to {counted(dropped, 'event')} that the writers say they do not have.")
    best_effort = [one.writer for one in figures.writers.values() if one.best_effort]
    if best_effort:
        count = counted(len(best_effort), "writer")
        found.append(f"What {count} in best-effort mode could not write: such a writer drops rather than waits.")
    starts = [one.first_at for one in figures.writers.values() if one.first_at is not None]
    ends = [one.last_at for one in figures.writers.values() if one.last_at is not None]
    if figures.since is not None and starts and min(starts) > figures.since:
        found.append(f"The period before {min(starts)}: no log begins earlier.")
    if figures.until is not None and ends and max(ends) < figures.until:
        found.append(f"The period after {max(ends)}: no log has a later record.")
    if figures.tenants:
        found.append("Events of other tenants, and those without one: they were left out on demand.")
    lacking = (
        ("A reason that no pack declares, and that the log has not copied", figures.undeclared),
        ("Which call it was: no reference of its hash", figures.unreferenced),
        ("Whose call it was: no principal", figures.nameless),
        ("Which run it was part of", figures.without_run),
        ("When it was: a time that is none, and that is not in the chart", figures.timeless),
    )
    found += [f"{what}: {counted(count, 'decision')}." for what, count in lacking if count]
    report = reading.verification
    if report is not None:
        torn = sum(one.torn_bytes for one in report.writers)
        if torn:
            found.append(f"A write that was cut off at the end of a log: {counted(torn, 'byte')}.")
    return found
