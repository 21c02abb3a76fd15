"""What the access decision (step 1) costs in OPA as tools and identities grow: generate tables, use `opa bench`.

    .venv/bin/python -m bench.access_scale .opa/<version>/opa [--runs 3]

Prints a table and writes bench/results/access_scale.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.rego_scale import ROOT, decide_often

SIZES: Final = ((10, 10), (1_000, 10), (10_000, 10), (10, 10_000), (10, 100_000), (10_000, 100_000))
RULE: Final = "data.aioc.tool_access.decision"


def generate(folder: Path, tools: int, identities: int) -> dict[str, Any]:
    """Write a policy folder; the question to ask it."""
    for part in ("aioc/lib", "aioc/tool_access", "aioc/access_rules"):
        shutil.copytree(ROOT / "rego" / part, folder / part, ignore=shutil.ignore_patterns("*_test.rego"))
    (folder / "aioc/access").mkdir()
    groups = [f"group_{number}" for number in range(10)]
    access = {
        "decidedBy": "table",
        "tools": {f"tool_{number:05}": {"effect": "allow", "groups": groups[:5]} for number in range(tools)},
        "identities": {
            f"user_{number}": {"effect": "allow", "memberOf": groups[3:], "tenants": ["acme"]}
            for number in range(identities)
        },
        "tenants": {"acme": {"effect": "allow"}},
        "capabilities": {"chat": {"effect": "allow"}},
        "providers": {"p": {"effect": "allow", "models": ["m"]}},
    }
    (folder / "aioc/access/data.json").write_text(json.dumps(access))
    request = {
        "requestId": "r",
        "identity": f"user_{identities // 2}",
        "tenantId": "acme",
        "toolName": f"tool_{tools // 2:05}",
        "capability": "chat",
        "provider": "p",
        "model": "m",
        "deadlineSeconds": 5,
        "resourceBudget": 1,
    }
    return {"contractVersion": "1", "kind": "access", "requestId": "r", "requestDigest": "0" * 64, "request": request}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opa", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    print("| tools | identities | µs a decision | × the first |\n|--:|--:|--:|--:|")
    for tools, identities in SIZES:
        with tempfile.TemporaryDirectory() as temporary:
            folder, question = Path(temporary) / "policy", Path(temporary) / "input.json"
            question.write_text(json.dumps(generate(folder, tools, identities)))
            median = decide_often(options.opa.resolve(), folder, question, RULE, options.runs)
        results.append({"tools": tools, "identities": identities, "microseconds": median})
        print(f"| {tools:,} | {identities:,} | {median} | {median / results[0]['microseconds']:.2f} |", flush=True)
    target = ROOT / "bench/results/access_scale.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
