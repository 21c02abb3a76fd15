"""Deciding on OPA as tools grow from 10 to 10,000: the generated policies of `rego_scale`, by `opa bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.rego_scale import TOOLS_A_PACK, measure
from bench.server import opa_binary

SIZES = (10, 1_000, 10_000)


def measure_scale() -> list[dict[str, Any]]:
    """One row a size; ratios to the first."""
    opa = Path(opa_binary()).resolve()
    rows: list[dict[str, Any]] = []
    for tools in SIZES:
        result = measure(opa, tools, identities=10, tools_a_pack=TOOLS_A_PACK, runs=3)
        microseconds = float(result["microseconds"])
        first = rows[0]["p50_us"] if rows else microseconds
        rows.append({"tools": tools, "p50_us": microseconds, "ratio": microseconds / first})
    return rows
