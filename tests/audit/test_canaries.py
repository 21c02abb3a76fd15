"""Secrets that are planted where an attacker, a model or a policy can put them are in nothing that was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import Principal, RunContext, ToolArgumentsValidationError, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.payload_cipher import PayloadCipher
from aioc_opa.audit.arguments import ArgumentVault
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.sql import SqlSink
from aioc_opa.audit.trail import AuditTrail
from tests.audit.logs import KEY
from tests.doubles import ScriptedEngine, allowing, denying

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary4711"
ARGUMENTS = json.dumps({"order": CANARY})
CALL: dict[str, Any] = {
    "agent_name": "support",
    "principal": Principal(identity="kim", tenant="acme"),
    "run_context": RunContext(run_id="run", context={"note": CANARY}),
    "call_id": "call",
    "turn": 1,
}


class Broken:
    """A sink that fails with a secret in its error, once it is told to."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.broken = inner, False

    def append(self, records: Any) -> None:
        if self.broken:
            raise RuntimeError(CANARY)
        self.inner.append(records)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def said(question: dict[str, Any]) -> dict[str, Any]:
    """A denial that copies the arguments into every place that a policy has."""
    answer: dict[str, Any] = denying(question)
    code = f"code_{CANARY}"
    return {**answer, "reason": code, "reasons": [code], "publicReason": CANARY, "metadata": {"x": CANARY}}


def failing(_: dict[str, Any]) -> Any:
    raise RuntimeError(CANARY)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
@pytest.mark.parametrize("answer", [allowing, said, failing])
def test_no_planted_secret_is_written(kind: str, answer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    folder = tmp_path / "audit"
    sink = Broken(JsonLinesSink(folder) if kind == "jsonl" else SqlSink(tmp_path / "audit.db"))
    trail = AuditTrail(sink, writer="one", key=KEY, tenant_keys={"acme": bytes(32)})
    guard = ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision(), audit=trail, result_mode="tool_result")

    @guard.tool()
    def pay(order: str) -> str:
        """Pay."""
        if trail.counts.written > 8:
            raise RuntimeError(order)
        return order

    for broken in (False, True):
        sink.broken = broken
        for name, arguments in (
            ("pay", ARGUMENTS), (CANARY, ARGUMENTS), ("pay", ARGUMENTS), ("pay", json.dumps({CANARY: 1})),
            ("pay", CANARY), ("pay", ARGUMENTS),
        ):  # fmt: skip
            try:
                guard.call(name, arguments, **CALL)
            except (RuntimeError, ToolArgumentsValidationError):
                continue
    sink.broken = False
    trail.close()
    assert trail.counts.written
    del pay
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not any(CANARY.encode() in content for content in kept)
    assert CANARY not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("aioc_opa.audit")
    )


def test_kept_arguments_hold_no_planted_secret(tmp_path: Path) -> None:
    for number, vault in enumerate((
        ArgumentVault(tmp_path / "a.db", cipher=PayloadCipher({"k": bytes(32)}, "k")),
        ArgumentVault(tmp_path / "b.db", commitment_keys={"": bytes(32)}, fields={"pay": ["order"]}),
    )):  # fmt: skip
        assert vault.keep(tenant=None, request_id=str(number), tool_name="pay", args_canonical_json=ARGUMENTS)
        vault.close()
    assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.iterdir())
