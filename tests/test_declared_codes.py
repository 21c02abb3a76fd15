"""Which reason codes audit and telemetry call by name: those that the packs of the engine's own policy declare."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa import (
    AsyncOpaServerEngine,
    AsyncToolGuard,
    ConfigurationError,
    EmbeddedEngine,
    LocalOpaEngine,
    OpaServerEngine,
    Principal,
    RunContext,
    ToolGuard,
    UnsafeAnyRevision,
)
from aioc_opa.audit.json_lines import JsonLinesSink
from aioc_opa.audit.keys import AuditKey
from aioc_opa.audit.trail import AuditTrail
from aioc_opa.core.audit.labels import reason_labels
from aioc_opa.core.reasons import HANDOFF_CODES, LIBRARY_CODES
from aioc_opa.packs.declared_codes import declared_codes
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.scaffolding import new_pack
from aioc_opa.packs.starter import new_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.telemetry.observer import ObservedCall, ObservedDecision

GUEST = Principal(identity="kim", roles=("guest",))
UNASKED = "http://127.0.0.1:9"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    new_policy(tmp_path / "policy")
    new_pack("mail", tmp_path / "policy", tools=["send_email"])
    new_pack("files", tmp_path / "policy", tools=["delete_file"])
    return tmp_path / "policy"


@pytest.fixture
def trail(tmp_path: Path) -> Iterator[AuditTrail]:
    made = AuditTrail(JsonLinesSink(tmp_path / "audit"), writer="one", key=AuditKey.generate(), mode="required")
    yield made
    made.close()


@pytest.fixture(params=["embedded", "local"])
def engine(request: pytest.FixtureRequest, policy: Path, opa_binary: Path) -> Iterator[Any]:
    made: Any = EmbeddedEngine(policy) if request.param == "embedded" else LocalOpaEngine(policy, opa_binary=opa_binary)
    yield made
    made.close()


class Seen:
    """An observer of decisions."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def began(self, call: ObservedCall) -> Seen:
        return self

    def ended(self, decision: ObservedDecision) -> None:
        self.reasons.append(decision.reason)


def refused(guard: ToolGuard) -> None:
    guard.register_json_schema("send_email", {"type": "object"}, lambda arguments: None)
    context = RunContext(context={"userConfirmed": True})
    guard.call("send_email", "{}", agent_name="support", principal=GUEST, run_context=context)


def reasons(folder: Path) -> list[str]:
    lines = (folder / "audit/one.00000001.jsonl").read_text().splitlines()
    contents = [json.loads(line)["content"] for line in lines]
    return [content["event"]["reason"] for content in contents if "event" in content]


def test_the_codes_of_the_engines_own_policy_are_told_as_they_are(
    engine: Any, trail: AuditTrail, tmp_path: Path
) -> None:
    seen = Seen()
    refused(
        ToolGuard(engine, revision_gate=UnsafeAnyRevision(), result_mode="tool_result", audit=trail, telemetry=seen)
    )
    assert (reasons(tmp_path)[-1], seen.reasons) == ("role_missing", ["role_missing"])


def test_codes_that_are_given_count_alone(engine: Any, trail: AuditTrail, tmp_path: Path) -> None:
    seen = Seen()
    settings: Any = {"revision_gate": UnsafeAnyRevision(), "result_mode": "tool_result"}
    refused(ToolGuard(engine, audit=trail, telemetry=seen, audit_codes={"not_confirmed"}, **settings))
    assert (reasons(tmp_path)[-1], seen.reasons) == ("undeclared", ["undeclared"])


def test_the_codes_are_those_of_all_packs(policy: Path, repository: Path) -> None:
    codes = {"role_missing", "not_confirmed", "role_held"}
    assert declared_codes(load_policy(policy)) == codes
    engine = EmbeddedEngine(policy)
    assert engine.declared_codes == codes
    engine.close()
    assert declared_codes(load_policy(repository / "rego")) > {"baggage_overcharged"}


def test_a_policy_without_packs_declares_none(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/own.rego").write_text('package own\n\ndecision := {"decision": "allow", "reason": "own"}\n')
    assert declared_codes(load_policy(tmp_path)) == frozenset()


@pytest.mark.parametrize(
    ("guard", "engine"), [(ToolGuard, OpaServerEngine), (AsyncToolGuard, AsyncOpaServerEngine)], ids=["sync", "async"]
)
def test_an_opa_elsewhere_without_codes_is_warned_of_once_where_somebody_is_told(
    guard: Any, engine: Any, trail: AuditTrail, policy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        return [record.message for record in caplog.records if "audit_codes is not given" in record.message]

    with caplog.at_level(logging.WARNING, logger="aioc_opa"):
        guard(engine(UNASKED), revision_gate=UnsafeAnyRevision())
        codes = declared_codes(load_policy(policy))
        assert guard(engine(UNASKED), revision_gate=UnsafeAnyRevision(), audit=trail, audit_codes=codes).settings.codes
        guard(engine(UNASKED), revision_gate=UnsafeAnyRevision(), audit=trail, audit_codes=())
        assert warnings() == []
        assert not guard(engine(UNASKED), revision_gate=UnsafeAnyRevision(), audit=trail).settings.codes
        guard(engine(UNASKED), revision_gate=UnsafeAnyRevision(), telemetry=Seen())
    assert len(warnings()) == 2
    assert "declared_codes(load_policy(…))" in warnings()[0]


def test_a_text_is_no_collection_of_codes() -> None:
    with pytest.raises(ConfigurationError, match="audit_codes must be a collection"):
        ToolGuard(OpaServerEngine(UNASKED), revision_gate=UnsafeAnyRevision(), audit_codes="role_missing")


def test_what_the_library_itself_says_is_no_code_of_a_pack_and_is_told_as_it_is(repository: Path) -> None:
    library = repository / "rego/aioc"
    handoffs = set(re.findall(r'verdicts\.\w+\("(\w+)"', (library / "handoff_policy/handoff_policy.rego").read_text()))
    assert handoffs == HANDOFF_CODES
    routed = set(re.findall(r'verdicts.deny\("(\w+)"', (library / "routes/routes.rego").read_text()))
    assert routed == LIBRARY_CODES - {"malformed_verdict"}
    assert "malformed_verdict" in (library / "lib/decisions/decisions.rego").read_text()
    assert reason_labels(sorted(LIBRARY_CODES | HANDOFF_CODES), ()) == tuple(sorted(LIBRARY_CODES | HANDOFF_CODES))
