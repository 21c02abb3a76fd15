#!/usr/bin/env python3
"""What a decision costs in OPA as tools, packs and identities grow: generate policies, measure with `opa bench`.

    .venv/bin/python bench/rego_scale.py .opa/<version>/opa [--sizes 10 1000 10000] [--identities 10 10000 100000]

Two layouts of the same number of tools: packs of ten tools each, and one table for all of them. Each has an identity
directory of the given size that every rule looks up. Prints a table and writes bench/results/rego_scale.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from aioc_opa.packs.routes_file import write_routes

ROOT = Path(__file__).resolve().parent.parent
TOOLS_A_PACK = 10

RULES = """package aioc.packs.{pack}

import data.aioc.lib.money
import data.aioc.lib.verdicts
import future.keywords.not

loaded := true

_person := data.directory.identities[input.principal.identity]

deny contains verdict if {{
\tnot money.at_most(input.parsedArguments.amount, data.aioc.packs.{pack}.limits[input.toolName])
\tverdict := verdicts.deny("amount_above_limit")
}}

deny contains verdict if {{
\tnot "operator" in _person.roles
\tverdict := verdicts.deny("role_missing")
}}

require_approval contains verdict if {{
\tnot input.runContext.context.verified == true
\tverdict := verdicts.hold("not_verified")
}}

allow contains verdict if {{
\tinput.parsedArguments
\tverdict := verdicts.allow("within_limits")
}}
"""


def manifest(tools: list[str], pack: str) -> dict[str, Any]:
    def needs(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "required": list(properties), "properties": properties}

    table = needs(
        aioc=needs(packs=needs(**{pack: needs(limits={"type": "object"})})),
        directory=needs(identities={"type": "object"}),
    )
    return {
        "version": "1",
        "title": pack,
        "tools": {tool: {"context": needs(verified={"type": "boolean"})} for tool in tools},
        "data": table,
        "codes": ["amount_above_limit", "role_missing", "not_verified", "within_limits"],
    }


def generate(folder: Path, tools: int, identities: int, tools_a_pack: int) -> dict[str, Any]:
    """Write a policy folder; the question to ask it."""
    for part in ("aioc/lib", "aioc/tool_policy"):
        shutil.copytree(ROOT / "rego" / part, folder / part, ignore=shutil.ignore_patterns("*_test.rego"))
    names = [f"tool_{number:05}" for number in range(tools)]
    owners = {}
    for number, start in enumerate(range(0, tools, tools_a_pack)):
        pack, group = f"pack_{number:05}", names[start : start + tools_a_pack]
        home = folder / "aioc/packs" / pack
        home.mkdir(parents=True)
        (home / f"{pack}.rego").write_text(RULES.format(pack=pack))
        (home / "data.json").write_text(
            json.dumps({"manifest": manifest(group, pack), "limits": dict.fromkeys(group, 100)})
        )
        owners.update(dict.fromkeys(group, pack))
    (folder / "aioc/owners").mkdir()
    (folder / "aioc/owners/data.json").write_text(json.dumps(owners))
    people = {f"user_{number}": {"roles": ["operator"], "tenant": "acme"} for number in range(identities)}
    (folder / "directory").mkdir()
    (folder / "directory/data.json").write_text(json.dumps({"identities": people}))
    write_routes(folder)
    return {
        "kind": "tool",
        "requestId": "r",
        "proposalHash": "0" * 64,
        "toolName": names[tools // 2],
        "parsedArguments": {"amount": 50},
        "runContext": {"context": {"verified": True}},
        "principal": {"identity": f"user_{identities // 2}", "roles": ["operator"]},
        "decodeAssurance": "raw",
        "turn": 1,
    }


def decide_often(opa: Path, folder: Path, question: Path, rule: str, runs: int) -> float:
    """Microseconds a decision, the median of `runs` medians of `opa bench`; the decision must be allow."""
    asked = [opa, "eval", "-b", folder, "-i", question, "-f", "json", rule]
    answer = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    decision = answer["result"][0]["expressions"][0]["value"]["decision"]
    if decision != "allow":
        raise SystemExit(f"the bench's own question is not allowed: {answer}")
    bench = [opa, "bench", "-b", folder, "-i", question, "--format", "json", "--count", str(runs), rule]
    lines = subprocess.run(bench, check=True, capture_output=True, text=True).stdout
    decoder, medians, at = json.JSONDecoder(), [], 0
    while at < len(lines.rstrip()):
        report, at = decoder.raw_decode(lines, at)
        at += len(lines[at:]) - len(lines[at:].lstrip())
        medians.append(report["Extra"].get("histogram_timer_rego_query_eval_ns_median", report["T"] / report["N"]))
    return round(statistics.median(medians) / 1000, 1)


def measure(opa: Path, tools: int, identities: int, tools_a_pack: int, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "policy"
        question = Path(temporary) / "input.json"
        began = time.perf_counter()
        question.write_text(json.dumps(generate(folder, tools, identities, tools_a_pack)))
        generated = time.perf_counter() - began
        routes = (folder / "aioc/routes/routes.rego").stat().st_size
        median = decide_often(opa, folder, question, "data.aioc.tool_policy.decision", runs)
    return {
        "layout": f"packs of {tools_a_pack}" if tools_a_pack == TOOLS_A_PACK else "one pack, one table",
        "tools": tools,
        "identities": identities,
        "microseconds": median,
        "routesKiB": routes // 1024,
        "generateSeconds": round(generated, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opa", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1000, 10000])
    parser.add_argument("--identities", type=int, nargs="+", default=[10, 10000, 100000])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    plan = [(size, 10, TOOLS_A_PACK) for size in options.sizes]
    plan += [(size, 10, size) for size in options.sizes if size != TOOLS_A_PACK]
    plan += [(10, size, TOOLS_A_PACK) for size in options.identities[1:]]
    results = []
    print("| layout | tools | identities | µs a decision | × the first | routes KiB |\n|---|--:|--:|--:|--:|--:|")
    for tools, identities, tools_a_pack in plan:
        result = measure(options.opa.resolve(), tools, identities, tools_a_pack, options.runs)
        results.append(result)
        ratio = result["microseconds"] / results[0]["microseconds"]
        cells = (
            result["layout"],
            f"{tools:,}",
            f"{identities:,}",
            result["microseconds"],
            f"{ratio:.2f}",
            result["routesKiB"],
        )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    target = ROOT / "bench/results/rego_scale.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
