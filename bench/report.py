"""Tables for people, JSON for machines, and the targets of design 8 beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from bench.latency import Latency

console = Console()


def latency_table(title: str, rows: list[Latency]) -> None:
    table = Table(title=title)
    for column in ("asked by", "p50 µs", "p99 µs", "× http.client", "10 % to 90 % of rounds"):
        table.add_column(column, justify="left" if column == "asked by" else "right")
    for row in rows:
        spread = f"{row.ratio_low:.2f} to {row.ratio_high:.2f}"
        table.add_row(row.name, f"{row.p50_us:.0f}", f"{row.p99_us:.0f}", f"{row.ratio:.2f}", spread)
    console.print(table)


def throughput_table(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Decisions a second, one process")
    for column in ("callers", "guard, threads", "guard, tasks", "wrk", "tasks / wrk"):
        table.add_column(column, justify="right")
    for row in rows:
        ratio = "wrk is not installed" if row["wrk"] is None else f"{row['tasks'] / row['wrk']:.2f}"
        wrk = "" if row["wrk"] is None else f"{row['wrk']:.0f}"
        table.add_row(str(row["callers"]), f"{row['threads']:.0f}", f"{row['tasks']:.0f}", wrk, ratio)
    console.print(table)


def scale_table(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Deciding on OPA as tools grow (one pack a ten tools, static routes)")
    for column in ("tools", "p50 µs", "× 10 tools"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(str(row["tools"]), f"{row['p50_us']:.0f}", f"{row['ratio']:.2f}")
    console.print(table)


def targets_table(targets: list[dict[str, Any]]) -> None:
    table = Table(title="Targets (design 8)")
    for column in ("target", "at most / least", "measured", ""):
        table.add_column(column)
    for target in targets:
        measured = "not measured" if target["measured"] is None else f"{target['measured']:.2f}"
        table.add_row(
            target["name"], target["bound"], measured, {True: "met", False: "NOT MET", None: ""}[target["met"]]
        )
    console.print(table)
