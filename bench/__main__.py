"""`make bench`: latency against peers, throughput, the airline pack and scale, in one run. Ratios, tables and JSON."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bench import access, report
from bench.airline import measure_airline
from bench.audit import BEST_EFFORT, WITHOUT, measure_audit
from bench.call import RAW, question_bytes
from bench.grant import measure_grants
from bench.latency import small_policy
from bench.scale import measure_scale
from bench.server import ROOT, opa_server
from bench.throughput import measure as measure_throughput

if TYPE_CHECKING:
    from bench.latency import Latency


def ratio(rows: list[Latency], name: str) -> float:
    return next(row.ratio for row in rows if row.name == name)


def targets(
    *,
    small: list[Latency],
    airline: list[Latency],
    audit: list[Latency],
    gated: list[Latency],
    throughput: list[dict[str, Any]],
    scale: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    busiest = throughput[-1]
    tasks = None if busiest["wrk"] is None else busiest["tasks"] / busiest["wrk"]
    tcp = ratio(airline, "guard.authorize, TCP")
    measured = [
        ("guard.authorize over TCP, × http.client", "≤ 1.0", ratio(small, "guard.authorize, TCP"), 1.0, True),
        ("embedded, small policy, × http.client", "≤ 0.6", ratio(small, "guard.authorize, embedded"), 0.6, True),
        (
            "embedded on the airline pack, × the server",
            "< 1.0",
            ratio(airline, "guard.authorize, embedded") / tcp,
            1.0,
            True,
        ),
        (
            "access and a store: the guard's ratio grows by",
            "≤ 0.3",
            ratio(gated, access.LISTS_AND_STORE) - ratio(gated, access.WITHOUT),
            0.3,
            True,
        ),
        (
            "best-effort audit: the guard's ratio grows by",
            "≤ 0.2",
            ratio(audit, BEST_EFFORT) - ratio(audit, WITHOUT),
            0.2,
            True,
        ),
        ("async throughput, 32 callers, × wrk", "≥ 0.6", tasks, 0.6, False),
        ("deciding at 10,000 tools, × at 10", "≤ 1.3", scale[-1]["ratio"], 1.3, True),
    ]
    return [
        {
            "name": name,
            "bound": bound,
            "measured": value,
            "met": None if value is None else (value <= limit if at_most else value >= limit),
        }
        for name, bound, value, limit, at_most in measured
    ]


def main() -> int:
    body = question_bytes()
    policy = ROOT / "bench" / "policy"
    loop = asyncio.new_event_loop()
    report.console.print(f"arguments {len(RAW)} B, body {len(body)} B, Python {platform.python_version()}")
    with opa_server(policy) as (port, unix):
        small = small_policy(loop, port, unix, body, policy)
        report.latency_table("Small policy, one caller, interleaved", small)
        throughput = measure_throughput(loop, port, body)
        report.throughput_table(throughput)
        audit = measure_audit(port, body)
        report.latency_table("Audit, one event a decision", audit)
    gated = access.measure_access()
    report.latency_table("Access, before a call that needs no approval", gated)
    grants = measure_grants()
    report.latency_table("A grant's life, one after another", grants)
    with opa_server(ROOT / "rego") as (port, _):
        airline = measure_airline(ROOT, port)
        report.latency_table("Airline pack, one recorded booking", airline)
    scale = measure_scale()
    report.scale_table(scale)
    reached = targets(small=small, airline=airline, audit=audit, gated=gated, throughput=throughput, scale=scale)
    report.targets_table(reached)
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    document = {
        "python": platform.python_version(),
        "machine": platform.platform(),
        "argumentBytes": len(RAW),
        "bodyBytes": len(body),
        "small": [asdict(row) for row in small],
        "airline": [asdict(row) for row in airline],
        "access": [asdict(row) for row in gated],
        "grants": [asdict(row) for row in grants],
        "audit": [asdict(row) for row in audit],
        "throughput": throughput,
        "scale": scale,
        "targets": reached,
    }
    path.write_text(json.dumps(document, indent=1))
    report.console.print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
