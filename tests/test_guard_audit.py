"""What a guard tells its audit trail: one event a decision, one before an effect, one after; and what it never tells."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import (
    AsyncToolGuard,
    ConfigurationError,
    Denied,
    Principal,
    RunContext,
    ToolArgumentsValidationError,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.access.gate import AccessGate
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.approvals.payload_cipher import PayloadCipher
from aioc_opa.audit.arguments import ArgumentVault
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.sink import SinkError
from aioc_opa.audit.trail import AuditTrail
from tests.doubles import ScriptedEngine, allowing, denying

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "sk-canary-99d0"
ARGUMENTS = json.dumps({"order": CANARY})
TENANT_KEY = b"k" * 32
KIM = Principal(identity="kim", tenant="acme", roles=("operator",))
CALL: dict[str, Any] = {
    "agent_name": "support",
    "principal": KIM,
    "run_context": RunContext(run_id="run-1", context={"note": CANARY}),
    "call_id": "call-1",
    "turn": 3,
}


class FailingSink:
    """A sink that is there when the trail is opened, and fails from then on."""

    def __init__(self, inner: JsonLinesSink) -> None:
        self.inner = inner
        self.failing = False

    def append(self, records: Any) -> None:
        if self.failing:
            raise SinkError("the disk is full")
        self.inner.append(records)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Audited:
    """A guard of either kind with a real trail in a folder."""

    def __init__(
        self, kind: str, folder: Path, *, mode: Any = "required", answer: Any = allowing, **settings: Any
    ) -> None:
        self.folder = folder
        self.sink = FailingSink(JsonLinesSink(folder))
        self.trail = AuditTrail(
            self.sink, writer="one", key=AuditKey.generate(), tenant_keys={"acme": TENANT_KEY}, mode=mode,
            timeout_seconds=2,
        )  # fmt: skip
        made: Any = ToolGuard if kind == "sync" else AsyncToolGuard
        self.engine = ScriptedEngine(answer)
        self.guard = made(
            self.engine, revision_gate=UnsafeAnyRevision(), audit=self.trail, result_mode="tool_result",
            audit_codes={"because"}, **settings,
        )  # fmt: skip
        self.entered: list[str] = []

        @self.guard.tool(version="7")
        def refund(order: str) -> str:
            self.entered.append(order)
            if order == "bad":
                raise RuntimeError(CANARY)
            return "paid back " + CANARY

    def call(self, tool: Any = "refund", arguments: Any = ARGUMENTS, **options: Any) -> Any:
        return self.ran(self.guard.call(tool, arguments, **{**CALL, **options}))

    def ran(self, value: Any) -> Any:
        async def ran() -> Any:
            return await value

        return asyncio.run(ran()) if inspect.isawaitable(value) else value

    def events(self) -> list[dict[str, Any]]:
        assert self.trail.flush()
        lines = [
            json.loads(line) for path in sorted(self.folder.rglob("*.jsonl")) for line in path.read_text().splitlines()
        ]
        return [line["content"]["event"] for line in lines if "event" in line["content"]]

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events()]

    def everything(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.rglob("*")) if path.is_file())


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def audited(kind: str, tmp_path: Path) -> Any:
    made: list[Audited] = []

    def make(**options: Any) -> Audited:
        made.append(Audited(kind, tmp_path / str(len(made)), **options))
        return made[-1]

    yield make
    for one in made:
        one.sink.failing = False
        one.trail.close()


@pytest.mark.parametrize("mode", ["required", "best_effort"])
def test_an_allowed_call_is_a_decision_an_intent_and_an_end(audited: Any, mode: str) -> None:
    one = audited(mode=mode)
    assert one.call().startswith("paid back")
    decision, started, ended = one.events()
    assert [decision["kind"], started["kind"], ended["kind"]] == [
        "tool_policy", "execution_started", "execution_completed",
    ]  # fmt: skip
    assert decision["decision"] == "allow"
    assert (decision["toolName"], decision["toolVersion"], decision["turn"]) == ("refund", "7", 3)
    assert (decision["identity"], decision["tenant"], decision["agentName"]) == ("kim", "acme", "support")
    assert (decision["runId"], decision["callId"]) == ("run-1", "call-1")
    assert decision["policyRevision"] == '{"scripted":"1"}'
    assert decision["engine"] == "scripted 1"
    assert started["executionId"] == ended["executionId"]
    assert {event["requestId"] for event in (decision, started, ended)} == {one.engine.questions[0]["requestId"]}


def test_arguments_are_known_by_a_keyed_reference_only(audited: Any) -> None:
    one = audited()
    one.call()
    proposal_hash = one.engine.questions[0]["proposalHash"]
    assert one.events()[0]["proposalRef"] == one.trail.proposal_ref("acme", proposal_hash)
    assert proposal_hash not in one.everything()
    one.call(principal=Principal(identity="kim"))  # no key for calls without a tenant
    assert "proposalRef" not in one.events()[3]


@pytest.mark.parametrize("mode", ["required", "best_effort"])
def test_no_argument_context_output_or_exception_text_is_written(audited: Any, mode: str) -> None:
    one = audited(mode=mode)
    one.call()
    with pytest.raises(RuntimeError):
        one.call(arguments='{"order": "bad"}')
    one.call(tool=CANARY)
    with pytest.raises(ToolArgumentsValidationError):
        one.call(arguments=CANARY)
    assert one.kinds().count("execution_failed") == 1
    assert CANARY not in one.everything()


def test_a_tool_that_is_not_registered_appears_as_its_digest(audited: Any) -> None:
    one = audited()
    one.call(tool="nothing_of_the_kind")
    (event,) = one.events()
    assert (event["kind"], event["decision"], event["reason"]) == ("access", "deny", "tool_not_registered")
    assert event["toolName"].startswith("sha256:")


def test_the_gate_s_answers_are_events_too(audited: Any) -> None:
    binding = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund"}))
    one = audited(access=AccessGate(identities=IdentityBindings([binding])))
    one.call()
    one.call(principal=Principal(identity="stranger"))
    granted, *_, refused = one.events()
    assert (granted["kind"], granted["decision"], granted["reason"]) == ("access", "allow", "allowed")
    assert (refused["kind"], refused["decision"], refused["reason"]) == ("access", "deny", "tool_not_authorized")


def test_refused_arguments_are_no_decision(audited: Any) -> None:
    one = audited()
    with pytest.raises(ToolArgumentsValidationError):
        one.call(arguments="[]")
    assert one.events() == []


def test_a_code_that_no_pack_declares_is_undeclared(audited: Any) -> None:
    def inventing(question: dict[str, Any]) -> dict[str, Any]:
        return {**denying(question), "reason": "order_a7", "reasons": ["because", "order_a7"]}

    one = audited(answer=inventing)
    one.call()
    (event,) = one.events()
    assert (event["reason"], event["reasons"]) == ("undeclared", ["because", "undeclared"])


def test_a_denial_by_the_runtime_has_its_reserved_reason(audited: Any) -> None:
    one = audited(answer=lambda question: RuntimeError(CANARY))
    one.call()
    assert one.events()[0]["reason"] == "policy_unavailable"


def test_a_permit_that_lets_nothing_run_is_an_event(audited: Any) -> None:
    one = audited()
    outcome = one.ran(one.guard.authorize("refund", '{"order": "A7"}', **CALL))
    one.ran(one.guard.execute(outcome.permit))
    one.ran(one.guard.execute(outcome.permit))
    for _ in range(200):
        if "permit_refused" in one.kinds():
            break
    assert one.kinds().count("permit_refused") == 1


def test_required_nothing_runs_that_the_trail_has_not_written(audited: Any) -> None:
    one = audited()
    outcome = one.ran(one.guard.authorize("refund", '{"order": "A7"}', **CALL))
    one.sink.failing = True
    refused = one.ran(one.guard.execute(outcome.permit))
    assert refused.code == "audit_unavailable"
    assert one.entered == []


def test_required_a_late_failure_alarms_and_does_not_undo_the_effect(
    audited: Any, caplog: pytest.LogCaptureFixture
) -> None:
    one = audited()

    def fails_from_now_on(order: str) -> str:
        one.sink.failing = True
        return "done"

    one.guard.register_function(fails_from_now_on)
    assert one.call(tool="fails_from_now_on", arguments='{"order": "A7"}') == "done"
    assert "not known to be durable" in caplog.text


def test_best_effort_never_denies(audited: Any) -> None:
    one = audited(mode="best_effort")
    one.sink.failing = True
    assert one.call().startswith("paid back")


def test_a_trail_that_is_none_is_refused(kind: str) -> None:
    made: Any = ToolGuard if kind == "sync" else AsyncToolGuard
    with pytest.raises(ConfigurationError, match="audit"):
        made(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), audit=object())


def test_an_event_that_cannot_be_written_denies_in_required_mode_only(
    kind: str, tmp_path: Path, audited: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    required, best_effort = audited(), audited(mode="best_effort")

    def broken(**_: Any) -> None:
        raise ValueError(CANARY)

    outcomes = [one.ran(one.guard.authorize("refund", '{"order": "A7"}', **CALL)) for one in (required, best_effort)]
    monkeypatch.setattr("aioc_opa.decision_event.AuditEvent", broken)
    refused = required.ran(required.guard.execute(outcomes[0].permit))
    assert not isinstance(refused, Denied)
    assert refused.code == "audit_unavailable"
    assert best_effort.ran(best_effort.guard.execute(outcomes[1].permit)).startswith("paid back")


def test_arguments_are_kept_apart_by_choice_and_bound_to_their_event(audited: Any, tmp_path: Path) -> None:
    vault = ArgumentVault(tmp_path / "kept.db", cipher=PayloadCipher({"k1": b"0" * 32}, "k1"))
    one = audited(audit_arguments=vault)
    one.call(arguments='{"order": "order-number-77"}')
    event = one.events()[0]
    found = vault.find(tenant="acme", request_id=event["requestId"], digest=event["argumentsDigest"])
    assert (found.status, found.args_canonical_json) == ("replayable", '{"order":"order-number-77"}')
    assert "order-number-77" not in one.everything()
    vault.close()
    one.call(
        arguments='{"order": "order-number-77"}'
    )  # a vault that fails is an alarm, and the event says that nothing is kept
    assert "argumentsDigest" not in one.events()[3]


def test_a_vault_that_is_none_is_refused(kind: str) -> None:
    made: Any = ToolGuard if kind == "sync" else AsyncToolGuard
    with pytest.raises(ConfigurationError, match="audit_arguments"):
        made(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), audit_arguments=object())
