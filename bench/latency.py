"""Latency, interleaved: in every round each contender asks in turn, in shuffled order, so that noise hits all alike."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.contenders import async_contenders, on_loop, sync_contenders

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 20
PER_ROUND = 150
WARM_UP = 200
BASE = "http.client"


@dataclass(frozen=True)
class Latency:
    """Of one contender: medians over the rounds, and how far the rounds' ratios spread."""

    name: str
    p50_us: float
    p99_us: float
    ratio: float
    ratio_low: float
    ratio_high: float


def timed(ask: Callable[[], None], repeat: int) -> list[float]:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return times


def measure(runners: dict[str, Callable[[int], list[float]]], base: str = BASE) -> list[Latency]:
    """Run every contender in every round; ratios are taken within a round, then their median over the rounds."""
    for run in runners.values():
        run(WARM_UP)
    rounds: list[dict[str, list[float]]] = []
    names = list(runners)
    for _ in range(ROUNDS):
        random.shuffle(names)
        rounds.append({name: runners[name](PER_ROUND) for name in names})
    return summary([{name: one[name] for name in runners} for one in rounds], base)


def summary(rounds: list[dict[str, list[float]]], base: str = BASE) -> list[Latency]:
    """One row a contender, in the order of the first round; seconds of each round, by contender."""
    rows = []
    for name in rounds[0]:
        ratios = sorted(statistics.median(one[name]) / statistics.median(one[base]) for one in rounds)
        everything = sorted(t for one in rounds for t in one[name])
        rows.append(
            Latency(
                name=name,
                p50_us=statistics.median(everything) * 1e6,
                p99_us=everything[int(len(everything) * 0.99)] * 1e6,
                ratio=statistics.median(ratios),
                ratio_low=ratios[len(ratios) // 10],
                ratio_high=ratios[-1 - len(ratios) // 10],
            )
        )
    return rows


def small_policy(loop: asyncio.AbstractEventLoop, port: int, unix: Path, body: bytes, policy: Path) -> list[Latency]:
    """All contenders on the small policy."""
    runners: dict[str, Callable[[int], list[float]]] = {}
    for name, ask in sync_contenders(port, unix, body, policy).items():
        runners[name] = lambda repeat, ask=ask: timed(ask, repeat)
    for name, ask_async in async_contenders(port, unix, body).items():
        runners[name] = lambda repeat, ask=ask_async: on_loop(loop, ask, repeat)
    return measure(runners)
