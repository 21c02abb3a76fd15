"""The airline pack alone on each engine, without routes and guard: its three sets, merged as design 5 merges them.

The pack is staged beside the library in a folder of its own, so that what this proves is the pack's doing.
"""

from __future__ import annotations

import http.client
import json
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import regorus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.opa_process import OpaProcess

PACK = "rego/aioc/packs/airline"
_STAGED = ("rego/aioc/lib", PACK)
_PROBE = """package airline_probe

answer := {
    "deny": data.aioc.packs.airline.deny,
    "require_approval": data.aioc.packs.airline.require_approval,
    "allow": data.aioc.packs.airline.allow,
}
"""


class Ruling(NamedTuple):
    """A decision and its codes, as `expected.jsonl` writes them."""

    decision: str
    reasons: tuple[str, ...]


class PackEngine(Protocol):
    def rule(self, call: dict[str, Any]) -> Ruling: ...


def policy_input(call: dict[str, Any]) -> dict[str, Any]:
    """What the pack reads of a `ToolPolicyInput`, from a recorded call or one with parsed `arguments`."""
    arguments = call["arguments"] if "arguments" in call else json.loads(call["rawArguments"])
    return {"toolName": call["toolName"], "parsedArguments": arguments, "runContext": call["runContext"]}


def merge(answer: dict[str, Any]) -> Ruling:
    """Deny over approval over allow; nothing allows without an allow verdict (design 5)."""
    denied = {verdict["code"] for verdict in answer["deny"]}
    held = {verdict["code"] for verdict in answer["require_approval"]}
    for verdict in answer["require_approval"]:
        assert verdict["approval"]["approverRoles"]
    reasons = tuple(sorted(denied | held))
    if denied:
        return Ruling("deny", reasons)
    if held:
        return Ruling("approval_required", reasons)
    assert answer["allow"], "no rule allows"
    return Ruling("allow", ())


def stage(repository: Path, folder: Path) -> Path:
    for part in _STAGED:
        target = folder / part.removeprefix("rego/")
        shutil.copytree(repository / part, target, ignore=shutil.ignore_patterns("*_test.rego", "samples"))
    (folder / "airline_probe").mkdir()
    (folder / "airline_probe" / "probe.rego").write_text(_PROBE)
    return folder


class OpaPack:
    """A real OPA server, asked as the server engine asks: over one connection, with strict builtin errors."""

    def __init__(self, server: OpaProcess) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def rule(self, call: dict[str, Any]) -> Ruling:
        body = json.dumps({"input": policy_input(call)})
        self._connection.request("POST", "/v1/data/airline_probe/answer?strict-builtin-errors=true", body)
        response = self._connection.getresponse()
        text = response.read()
        assert response.status == 200, text
        return merge(json.loads(text)["result"])

    def close(self) -> None:
        self._connection.close()


class RegorusPack:
    """The same folder on regorus, which is strict by itself."""

    def __init__(self, policy: Path) -> None:
        self._engine = regorus.Engine()
        for file in sorted(policy.rglob("*.rego")):
            self._engine.add_policy(str(file.relative_to(policy)), file.read_text())
        for file in sorted(policy.rglob("data.json")):
            document = json.loads(file.read_text())
            for part in reversed(file.relative_to(policy).parent.parts):
                document = {part: document}
            self._engine.add_data(document)

    def rule(self, call: dict[str, Any]) -> Ruling:
        self._engine.set_input_json(json.dumps(policy_input(call)))
        return merge(json.loads(self._engine.eval_rule_as_json("data.airline_probe.answer")))
