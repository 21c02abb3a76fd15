"""The sections of a report on decisions: at a glance, over time, by tool, reason, principal, and the runtime's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.audit.report_blocks import Data, Notice, Paragraph, Section, Table, Tiles, TimeChart, stacked
from aioc_opa.core.audit_report.collector import NOT_REGISTERED
from aioc_opa.core.audit_report.meanings import RUNTIME_REASONS, UNDECIDED
from aioc_opa.core.audit_report.timeline import seconds_of, text_of
from aioc_opa.core.audit_report.visible import counted, number_text, share_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aioc_opa.audit.report_blocks import Block, Cell, Look
    from aioc_opa.core.audit_report.collector import Figures
    from aioc_opa.core.audit_report.tallies import Tallies, Top

LOOKS: Final[tuple[Look, ...]] = ("allow", "approval_required", "deny")
WORDS: Final = ("allowed", "held", "denied")
_NOTHING: Final = Paragraph("Nothing of this kind is in the records of this period.")


def glance(figures: Figures, verified: tuple[str, str, Look], runtime: int, used: int) -> Section:
    """The numbers that say most."""
    allowed, held, denied = figures.steps.top(0).totals
    total = allowed + held + denied
    items: tuple[tuple[str, str, str, Look], ...] = (
        ("decisions", number_text(total), "", "neutral"),
        ("allowed", number_text(allowed), share_text(allowed, total), "allow"),
        ("held for a person", number_text(held), share_text(held, total), "approval_required"),
        ("denied", number_text(denied), share_text(denied, total), "deny"),
        ("refused by the runtime itself", number_text(runtime), "part of what was denied", "neutral"),
        ("approvals used", number_text(used), "", "neutral"),
        ("verification", *verified),
    )
    note = (
        "A decision is what policy, or the runtime on its behalf, answered to a call, and a refusal before any "
        "argument was looked at. A call that waited for a person and went on is decided twice."
    )
    return Section("glance", "At a glance", (Tiles(items), Paragraph(note)))


def over_time(figures: Figures) -> Section:
    """Decisions by time."""
    bars = figures.timeline.bars(
        None if figures.since is None else seconds_of(figures.since),
        None if figures.until is None else seconds_of(figures.until),
    )
    if bars is None:
        return Section("time", "Decisions over time", (_NOTHING,))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (text_of(bars.start + place * bars.step), *counts, sum(counts)) for place, counts in enumerate(bars.counts)
    )
    caption = f"Decisions by {_step_text(bars.step)}, UTC"
    columns = ("from", *WORDS, "all")
    table = Table(caption="The same in numbers", columns=columns, rows=rows, folded=True)
    return Section("time", "Decisions over time", (TimeChart(caption, bars, table),))


def by_tool(figures: Figures, limit: int) -> Section:
    """Decisions by tool."""

    def named(name: str) -> Cell:
        return "not registered (the log has digests of these names)" if name == NOT_REGISTERED else _name(name)

    return Section("tools", "By tool", (_outcomes(figures.tools, "Decisions by tool", "tool", limit, named),))


def by_principal(figures: Figures, limit: int) -> Section:
    """Decisions by principal."""
    table = _outcomes(figures.principals, "Decisions by principal", "principal", limit, _name)
    blocks: list[Block] = [table]
    if figures.nameless:
        blocks.append(Paragraph(f"Not in the table: {counted(figures.nameless, 'decision')} without a principal."))
    return Section("principals", "By principal", tuple(blocks))


def by_reason(figures: Figures, limit: int) -> Section:
    """Why calls were held or denied."""
    top = figures.reasons.top(limit)
    if not top.rows:
        return Section("reasons", "By reason", (_NOTHING,))
    most = max(top.rows[0].total, sum(top.others))

    def row(name: Cell, whose: str, counts: Sequence[int]) -> tuple[Cell, ...]:
        return (name, whose, *counts, sum(counts))

    rows = [row(Data(one.name), _whose(one.name), one.counts) for one in top.rows]
    bars = [stacked(one.counts, LOOKS[1:], most, _said(one.counts, WORDS[1:])) for one in top.rows]
    if top.other_names:
        rows.append(row(_others(top), "", top.others))
        bars.append(stacked(top.others, LOOKS[1:], most, _said(top.others, WORDS[1:])))
    table = Table(
        caption="Decisions that were held or denied, by their first reason",
        columns=("reason", "whose", *WORDS[1:], "all"),
        rows=tuple(rows),
        bars=tuple(bars),
        note=_inexact(top),
    )
    return Section("reasons", "By reason", (table,))


def by_runtime(figures: Figures) -> Section:
    """What policy did not decide."""
    top = figures.runtime.top(len(RUNTIME_REASONS))
    said = Paragraph(
        "These refusals are not policy's: the runtime gave them where a call had no right to come as far as policy, "
        "where policy had no answer that could be used, and where an approval or a permit could not be."
    )
    if not top.rows:
        return Section("runtime", "Refused by the runtime itself", (said, _NOTHING))
    most = top.rows[0].total
    rows = tuple(
        (Data(one.name), RUNTIME_REASONS[one.name], "did not work" if one.name in UNDECIDED else "refused", one.total)
        for one in top.rows
    )
    bars = tuple(stacked((one.total,), LOOKS[2:], most, counted(one.total, "refusal")) for one in top.rows)
    table = Table(
        caption="Refusals by the runtime, by reason",
        columns=("reason", "what it says", "kind", "refusals"),
        rows=rows,
        bars=bars,
    )
    faults = sum(one.total for one in top.rows if one.name in UNDECIDED)
    blocks: list[Block] = [said, table]
    if faults:
        text = f"Something did not work: {counted(faults, 'refusal')} for that. A refusal is a denial all the same."
        blocks.insert(1, Notice("warn", text))
    return Section("runtime", "Refused by the runtime itself", tuple(blocks))


def _outcomes(tallies: Tallies, caption: str, column: str, limit: int, named: Callable[[str], Cell]) -> Block:
    top = tallies.top(limit)
    if not top.rows:
        return _NOTHING
    most = max(top.rows[0].total, sum(top.others))
    rows: list[tuple[Cell, ...]] = [(named(one.name), *one.counts, one.total) for one in top.rows]
    bars = [stacked(one.counts, LOOKS, most, _said(one.counts, WORDS)) for one in top.rows]
    if top.other_names:
        rows.append((_others(top), *top.others, sum(top.others)))
        bars.append(stacked(top.others, LOOKS, most, _said(top.others, WORDS)))
    return Table(
        caption=caption, columns=(column, *WORDS, "all"), rows=tuple(rows), bars=tuple(bars), note=_inexact(top)
    )


def _name(name: str) -> Cell:
    return Data(visible(name))


def _others(top: Top) -> str:
    most = "" if top.exact else "up to "
    return f"other ({most}{number_text(top.other_names)} more)"


def _inexact(top: Top) -> str:
    if top.exact:
        return ""
    return (
        "There were more names than are kept while counting: numbers of single names are at least these, and what was "
        "let go of is in the last row."
    )


def _whose(reason: str) -> str:
    return "runtime" if reason in RUNTIME_REASONS else "policy"


def _said(counts: Sequence[int], words: Sequence[str]) -> str:
    return ", ".join(f"{number_text(count)} {word}" for count, word in zip(counts, words, strict=True) if count)


def _step_text(step: int) -> str:
    for size, word in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if step % size == 0:
            number = step // size
            return word if number == 1 else f"{number} {word}s"
    return f"{step} seconds"
