"""Counts stay small whoever makes up the names and times, and totals stay exact."""

from __future__ import annotations

import random

import pytest

from aioc_opa.core.audit_report.tallies import Tallies
from aioc_opa.core.audit_report.timeline import (
    MAX_KEPT,
    MOST_BARS,
    STEPS,
    Timeline,
    milliseconds_between,
    seconds_of,
    text_of,
)
from aioc_opa.core.audit_report.waits import EDGES, Waits


def test_the_heaviest_names_come_first_and_the_rest_is_one_row() -> None:
    tallies = Tallies(2)
    for name, count in (("a", 3), ("b", 5), ("c", 1), ("d", 3)):
        for place in range(count):
            tallies.add(name, place % 2)
    top = tallies.top(2)
    assert [(row.name, row.counts, row.total) for row in top.rows] == [("b", (3, 2), 5), ("a", (2, 1), 3)]
    assert (top.others, top.other_names, top.exact) == ((3, 1), 2, True)
    assert top.totals == (8, 4)


def test_a_flood_of_names_is_bounded_keeps_heavy_ones_and_exact_totals() -> None:
    tallies = Tallies(1, capacity=100)
    for number in range(20_000):
        tallies.add(f"made-up-{number}")
        if number % 10 == 0:
            tallies.add("heavy")
        assert len(tallies._counts) <= 100
    top = tallies.top(1)
    assert (top.rows[0].name, top.rows[0].total) == ("heavy", 2000)
    assert top.totals == (22_000,)
    assert not top.exact
    assert top.other_names == 20_000


def test_bars_do_not_depend_on_the_order_and_lose_nothing() -> None:
    chance = random.Random(1)  # noqa: S311 - a test
    times = [1_780_000_000 + chance.randrange(40 * 86_400) for _ in range(6000)]
    made = []
    for _ in range(2):
        chance.shuffle(times)
        timeline = Timeline(2)
        for seconds in times:
            timeline.add(seconds, seconds % 2)
            assert len(timeline._counts) <= MAX_KEPT
        made.append(timeline.bars())
    assert made[0] == made[1]
    assert made[0] is not None
    assert made[0].step == 86_400
    assert len(made[0].counts) <= MOST_BARS
    assert sum(map(sum, made[0].counts)) == 6000


@pytest.mark.parametrize("step", STEPS)
def test_each_step_divides_the_next(step: int) -> None:
    place = STEPS.index(step)
    assert all(later % step == 0 for later in STEPS[place:])


def test_any_clock_fits() -> None:
    first, last = seconds_of("0001-01-01T00:00:00.000Z"), seconds_of("9999-12-31T23:59:59.999Z")
    assert first is not None
    assert last is not None
    timeline = Timeline(1)
    timeline.add(first, 0)
    timeline.add(last, 0)
    bars = timeline.bars()
    assert bars is not None
    assert len(bars.counts) <= MOST_BARS
    assert sum(map(sum, bars.counts)) == 2
    assert text_of(bars.start) == "0001-01-01 00:00"
    assert text_of(bars.start + bars.step * len(bars.counts)) == "9999-12-31 23:59"


def test_the_chart_shows_the_period_that_was_asked_for() -> None:
    timeline = Timeline(1)
    assert timeline.bars() is None
    since, until = seconds_of("2026-07-01T00:00:00.000Z"), seconds_of("2026-08-01T00:00:00.000Z")
    middle = seconds_of("2026-07-15T09:30:00.000Z")
    assert middle is not None
    timeline.add(middle, 0)
    bars = timeline.bars(since, until)
    assert bars is not None
    assert (text_of(bars.start), bars.step, len(bars.counts)) == ("2026-07-01 00:00", 86_400, 31)
    assert bars.counts[14] == (1,)


def test_weeks_begin_on_mondays() -> None:
    timeline = Timeline(1)
    for at in ("2026-01-01T00:00:00.000Z", "2026-12-31T00:00:00.000Z"):
        timeline.add(seconds_of(at) or 0, 0)
    bars = timeline.bars()
    assert bars is not None
    assert (bars.step, text_of(bars.start)) == (7 * 86_400, "2025-12-29 00:00")


def test_a_time_that_is_none_is_none() -> None:
    assert seconds_of("2026-02-31T00:00:00.000Z") is None
    assert milliseconds_between("2026-02-31T00:00:00.000Z", "2026-03-01T00:00:00.000Z") is None
    assert milliseconds_between("2026-07-01T00:00:00.000Z", "2026-07-01T00:00:01.250Z") == 1250


def test_the_middle_of_waits_is_near_the_true_one_and_the_longest_is_exact() -> None:
    chance = random.Random(2)  # noqa: S311 - a test
    times = [int(10 ** chance.uniform(0, 9)) for _ in range(5001)]
    waits = Waits()
    for milliseconds in times:
        waits.add(milliseconds)
    summary = waits.summary()
    median = sorted(times)[2500]
    assert summary.median_ms is not None
    assert median <= summary.median_ms <= median * 17 / 16 + 1
    assert summary.longest_ms == max(times)
    assert summary.count == sum(count for _, count in summary.by_length) == 5001


def test_waits_fall_into_their_length_edges_included() -> None:
    waits = Waits()
    assert waits.summary().median_ms is None
    for edge, _ in EDGES:
        waits.add(edge)
        waits.add(edge + 1)
    waits.add(-5)  # the decision's clock was behind
    assert [count for _, count in waits.summary().by_length] == [2, 2, 2, 2, 2, 1]
    short = Waits()
    short.add(7)
    assert short.summary().median_ms == 7
