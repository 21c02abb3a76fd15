"""Charts as inline SVG: shapes, titles and class names; colours come from the style sheet, and words stand beside them.

Texts are HTML beside the drawing: a drawing may be stretched to any width, and letters must not be.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.report_blocks import WIDTH
from aioc_opa.audit.report_decisions import LOOKS, WORDS
from aioc_opa.core.audit_report.timeline import text_of
from aioc_opa.core.audit_report.visible import number_text

if TYPE_CHECKING:
    from aioc_opa.audit.report_blocks import Bar, TimeChart

_HEIGHT: Final = 400
_LABELS: Final = 5
_NICE: Final = (1, 2, 4, 5, 8, 10)
"""What an axis may end with, times a power of ten; all but 1 and 5 have a whole half."""


def bar_svg(bar: Bar) -> str:
    """A row's bar."""
    rects = "".join(
        f'<rect class="{part.look}" x="{part.start}" y="0" width="{part.length}" height="10"/>' for part in bar.segments
    )
    label = escape(bar.label)
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH} 10" preserveAspectRatio="none">'
        f"<title>{label}</title>{rects}</svg>"
    )


def legend() -> str:
    """What the colours say."""
    items = "".join(
        f'<li><svg aria-hidden="true" viewBox="0 0 9 9"><rect class="{look}" width="9" height="9"/></svg>{word}</li>'
        for look, word in zip(LOOKS, WORDS, strict=True)
    )
    return f'<ul class="legend">{items}</ul>'


def time_svg(chart: TimeChart) -> str:
    """Stacked columns over time, with their axes."""
    counts = chart.bars.counts
    top = axis_end(max(sum(column) for column in counts))
    width = WIDTH / len(counts)
    columns = "".join(_column(chart, place, width, top) for place in range(len(counts)))
    grid = "".join(
        f'<line class="grid" x1="0" x2="{WIDTH}" y1="{height}" y2="{height}"/>' for height in (0, _HEIGHT // 2, _HEIGHT)
    )
    label = escape(f"{chart.caption}; the table below has the numbers")
    steps = (number_text(top), number_text(top // 2) if top % 2 == 0 else "", "0")
    up = "".join(f"<span>{step}</span>" for step in steps)
    return (
        '<div class="plot">'
        f'<div class="axis up" aria-hidden="true">{up}</div>'
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {_HEIGHT}" preserveAspectRatio="none">'
        f"{grid}{columns}</svg>{_along(chart)}</div>"
    )


def axis_end(most: int) -> int:
    """The least nice number that is not below `most`."""
    power = 1
    while True:
        for nice in _NICE:
            if nice * power >= most:
                return nice * power
        power *= 10


def _column(chart: TimeChart, place: int, width: float, top: int) -> str:
    counts = chart.bars.counts[place]
    if not any(counts):
        return ""
    start = text_of(chart.bars.start + place * chart.bars.step)
    said = ", ".join(f"{number_text(count)} {word}" for count, word in zip(counts, WORDS, strict=True))
    rects, base = [], float(_HEIGHT)
    for count, look in zip(counts, LOOKS, strict=True):
        if count:
            height = max(_HEIGHT * count / top, 1.5)
            base = max(base - height, 0.0)
            left, wide = place * width + width * 0.08, width * 0.84
            rects.append(
                f'<rect class="{look}" x="{left:.2f}" y="{base:.2f}" width="{wide:.2f}" height="{height:.2f}"/>'
            )
    return f"<g><title>{start}: {said}</title>{''.join(rects)}</g>"


def _along(chart: TimeChart) -> str:
    """Where steps begin, below the drawing: the first, the last and some between."""
    last = len(chart.bars.counts) - 1
    places = sorted({last * part // (_LABELS - 1) for part in range(_LABELS)})
    spans = []
    for place in places:
        text = text_of(chart.bars.start + place * chart.bars.step)
        between = "" if place in (0, last) else ' class="between"'
        spans.append(f"<span{between}>{text.removesuffix(' 00:00')}</span>")
    return f'<div class="axis along" aria-hidden="true">{"".join(spans)}</div>'
