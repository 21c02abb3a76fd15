"""The report of a period: what was decided, why, by whom it was approved, and what that stands on.

`page_of` says what is on it; `report_html.html_text` and `report_markdown.markdown_text` write it down. For the same
log and the same period the text is the same: there is no time of making on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit import report_approvals, report_decisions, report_evidence, report_gaps
from aioc_opa.audit.report_blocks import Page
from aioc_opa.core.audit_report.visible import visible

if TYPE_CHECKING:
    from aioc_opa.audit.report_reading import Reading

DEFAULT_TOP: Final = 12
"""Names that a table has before the rest is one row."""

TITLE: Final = "Audit report: tool calls of AI agents"


def page_of(reading: Reading, *, top: int = DEFAULT_TOP) -> Page:
    """The report of what was read.

    Args:
        reading: of `report_reading.read`.
        top: names in a table; the rest is one row.
    """
    figures = reading.figures
    approvals = figures.approvals.summary(top=top, listed=report_approvals.LISTED)
    executions = figures.executions.summary(listed=report_approvals.LISTED)
    runtime = sum(figures.runtime.top(0).others)
    period = (
        "Period: all records."
        if figures.since is None and figures.until is None
        else f"Period: from {figures.since or 'the first record'} to before {figures.until or 'the end of the log'}, "
        "by the writers' clocks."
    )
    tenants = ", ".join(visible(tenant) for tenant in sorted(figures.tenants))
    lead = (period, *((f"Only events of these tenants: {tenants}.",) if tenants else ()))
    sections = (
        report_decisions.glance(figures, report_evidence.status(reading), runtime, approvals.states["used"]),
        report_decisions.over_time(figures),
        report_decisions.by_tool(figures, top),
        report_decisions.by_reason(figures, top),
        report_decisions.by_runtime(figures),
        report_decisions.by_principal(figures, top),
        report_approvals.approvals(approvals),
        report_approvals.executions(executions),
        report_evidence.revisions(figures, top),
        report_evidence.verification(reading),
        report_gaps.gaps(reading),
    )
    return Page(TITLE, lead, sections)
