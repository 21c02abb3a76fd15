"""Evaluate the decision of a policy folder for many inputs, on a real OPA and on regorus."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import regorus

Json = dict[str, Any]

RULE = "data.aioc.tool_policy.decision"
_BATCH = "[answer | some question in input.questions; answer := {rule} with input as question]"


def copy_policy(source: Path, target: Path) -> Path:
    """The policy without tests and samples: what an engine loads."""
    return Path(shutil.copytree(source, target, ignore=shutil.ignore_patterns("*_test.rego", "samples", "*.md")))


def on_opa(opa_binary: Path, policy: Path, questions: list[Json], rule: str = RULE) -> list[Json]:
    """One decision a question, in one strict evaluation; an empty list where OPA refuses the policy or fails."""
    output = subprocess.run(
        [opa_binary, "eval", "-b", policy, "-I", "--strict-builtin-errors", "-f", "json", _BATCH.format(rule=rule)],
        input=json.dumps({"questions": questions}),
        capture_output=True,
        text=True,
        check=False,
    )
    document = json.loads(output.stdout) if output.stdout.startswith("{") else {}
    if "result" not in document:
        return []
    answers: list[Json] = document["result"][0]["expressions"][0]["value"]
    return answers


def on_regorus(policy: Path, questions: list[Json], rule: str = RULE) -> list[Json]:
    """The same, in process; a question that fails has the decision that an engine failure has: deny."""
    engine = regorus.Engine()
    for file in sorted(policy.rglob("*.rego")):
        engine.add_policy(str(file.relative_to(policy)), file.read_text())
    for file in sorted(policy.rglob("data.json")):
        document: Any = json.loads(file.read_text())
        for part in reversed(file.relative_to(policy).parent.parts):
            document = {part: document}
        engine.add_data(document)
    answers = []
    for question in questions:
        engine.set_input_json(json.dumps(question))
        try:
            answers.append(json.loads(engine.eval_rule_as_json(rule)))
        except Exception:  # noqa: BLE001 - whatever it raises, the embedded engine denies
            answers.append({"decision": "deny", "reason": "engine_failure", "reasons": []})
    return answers
