"""The sections of a report on approvals and on what was carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.report_blocks import Data, Notice, Paragraph, Section, Table, stacked
from aioc_opa.core.audit_report.visible import counted, duration_text, number_text, visible

if TYPE_CHECKING:
    from aioc_opa.audit.report_blocks import Block, Cell
    from aioc_opa.core.audit_report.approvals import Approval, ApprovalSummary
    from aioc_opa.core.audit_report.executions import ExecutionSummary

LISTED: Final = 40
_NAMED_VOTERS: Final = 6

_STATES: Final = {
    "used": "approved, and an execution began under it",
    "approved": "approved, and not used",
    "rejected": "rejected by a person",
    "expired": "expired before anybody had decided, or before it was used",
    "revoked": "approved, and taken back",
    "dismissed": "ended because nobody needed it any more",
    "pending": "no decision is in the records of this period",
}


def approvals(summary: ApprovalSummary) -> Section:
    """Who approved what, and how long it took."""
    if not summary.total:
        nothing = Paragraph("No approval is in the records of this period.")
        return Section("approvals", "Approvals", (nothing,))
    most = max(summary.states.values())
    there = [(state, count) for state in _STATES if (count := summary.states[state])]
    states = Table(
        caption="What became of them",
        columns=("state", "what it says", "approvals"),
        rows=tuple((state, _STATES[state], count) for state, count in there),
        bars=tuple(stacked((count,), ("neutral",), most, counted(count, "approval")) for _, count in there),
        note=_given_up(summary),
    )
    return Section("approvals", "Approvals", (states, *_waits(summary), *_voters(summary), *_latest(summary)))


def executions(summary: ExecutionSummary) -> Section:
    """What was carried out."""
    rows: tuple[tuple[str, str, int], ...] = (
        ("begun", "the record before the effect", summary.started),
        ("returned", "the handler came back", summary.completed),
        ("raised", "the handler raised or was interrupted: whether there was an effect is not said", summary.failed),
        ("nothing ran", "the record was written, and then the permit was refused", summary.not_entered),
        ("begun before", "an end is here, and its beginning is not among the records of this period", summary.earlier),
        ("no end", "it began, and no record of this period says how it ended", summary.unended),
    )
    table = Table(caption="Executions", columns=("what", "what it says", "number"), rows=rows)
    blocks: list[Block] = [table]
    if summary.unended:
        text = f"The end of {counted(summary.unended, 'execution')} is not here: the effect may have happened."
        unended = tuple(
            (one.at, Data(visible(one.tool or "-")), Data(one.writer), one.sequence) for one in summary.first_unended
        )
        more = summary.unended - len(unended)
        note = f"and {number_text(more)} more" if more else ""
        columns = ("began", "tool", "writer", "record")
        blocks += [Notice("warn", text), Table(caption="Without an end", columns=columns, rows=unended, note=note)]
    return Section("executions", "Carried out", tuple(blocks))


def _waits(summary: ApprovalSummary) -> tuple[Block, ...]:
    waits = summary.waits
    if waits.median_ms is None or waits.longest_ms is None:
        return ()
    most = max(count for _, count in waits.by_length)
    text = (
        f"Of {counted(waits.count, 'approval')} the request and the decision are both here. Half were decided within "
        f"about {duration_text(waits.median_ms)}; the longest took {duration_text(waits.longest_ms)}."
    )
    table = Table(
        caption="From the request to the decision",
        columns=("time", "approvals"),
        rows=waits.by_length,
        bars=tuple(
            stacked((count,), ("neutral",), most, f"{label}: {number_text(count)}") for label, count in waits.by_length
        ),
    )
    return Paragraph(text), table


def _voters(summary: ApprovalSummary) -> tuple[Block, ...]:
    top = summary.voters
    if not top.rows:
        return ()
    most = max(top.rows[0].total, sum(top.others))
    rows: list[tuple[Cell, ...]] = [(Data(visible(one.name)), *one.counts, one.total) for one in top.rows]
    bars = [stacked(one.counts, ("allow", "deny"), most, _votes(one.counts)) for one in top.rows]
    if top.other_names:
        rows.append((f"other ({number_text(top.other_names)} more)", *top.others, sum(top.others)))
        bars.append(stacked(top.others, ("allow", "deny"), most, _votes(top.others)))
    table = Table(
        caption="Votes by person",
        columns=("person", "approved", "rejected", "all"),
        rows=tuple(rows),
        bars=tuple(bars),
    )
    return (table,)


def _latest(summary: ApprovalSummary) -> tuple[Block, ...]:
    rows = tuple(_row(one) for one in summary.latest)
    more = summary.total - len(rows)
    note = (
        f"The latest {len(rows)} by the time of their request; {number_text(more)} more are counted above."
        if more
        else ""
    )
    columns = ("requested", "approval", "tool", "for", "votes", "state", "decided after")
    return (Table(caption="Each approval", columns=columns, rows=rows, note=note),)


def _row(one: Approval) -> tuple[Cell, ...]:
    votes = sorted(one.votes.items())
    named = ", ".join(f"{visible(person)} {verdict}" for person, verdict in votes[:_NAMED_VOTERS])
    unnamed = len(votes[_NAMED_VOTERS:]) + one.more_votes
    more = f" and {unnamed} more" if unnamed else ""
    waited = one.waited_ms
    return (
        one.requested_at or "before these records",
        Data(one.approval_id),
        Data(visible(one.tool or "-")),
        Data(visible(one.identity or "-")),
        Data(named + more or "-"),
        one.state,
        "-" if waited is None else duration_text(max(0, waited)),
    )


def _votes(counts: tuple[int, ...]) -> str:
    return f"{number_text(counts[0])} approved, {number_text(counts[1])} rejected"


def _given_up(summary: ApprovalSummary) -> str:
    if not summary.given_up:
        return ""
    return (
        f"More approvals than are followed at a time: of {number_text(summary.given_up)} only what came up first was "
        "followed, and one may count as two."
    )
