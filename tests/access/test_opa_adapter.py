"""The OPA-backed adapter: the real policy on a real OPA and embedded, and a closed reading of whatever is answered."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.access.adapters import NoAnswerError
from aioc_opa.access.gate import AccessGranted, AccessRefused
from aioc_opa.access.identities import IdentityBinding
from aioc_opa.access.in_process_approvals import InProcessApprovals
from aioc_opa.access.opa_adapter import AsyncOpaToolPolicy, OpaToolPolicy
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.principal import Principal
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest
from tests.access.gating import Gate, question
from tests.conftest import ROOT
from tests.doubles import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUEST = ToolAuthorizationRequest(
    request_id="ab" * 16, identity="kim", tool_name="refund", deadline_seconds=30.0, tenant_id="acmé"
)


@pytest.fixture(scope="module")
def engines(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """This repository's policy, with the tables of these tests."""
    policy = tmp_path_factory.mktemp("access") / "policy"
    shutil.copytree(ROOT / "rego", policy, ignore=shutil.ignore_patterns("*_test.rego"))
    allow = {"effect": "allow"}
    tables = {
        "decidedBy": "table",
        "tools": {
            "refund": {**allow, "groups": ["support"]},
            "lookup": {"effect": "approval_required", "groups": ["support"]},
            "purge": {"effect": "deny", "groups": []},
        },
        "identities": {"kim": {**allow, "memberOf": ["support"]}},
        "tenants": {"acme": allow},
        "capabilities": {},
        "providers": {},
    }
    (policy / "aioc" / "access" / "data.json").write_text(json.dumps(tables))
    with LocalOpaEngine(policy, opa_binary=opa_binary) as opa:
        yield {"opa": opa, "embedded": EmbeddedEngine(policy)}


@pytest.fixture(params=["opa", "embedded"])
def engine(request: pytest.FixtureRequest, engines: dict[str, Any]) -> Any:
    return engines[request.param]


def gate(engine: Any, **settings: Any) -> Gate:
    kim = IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund", "lookup", "purge", "new"}))
    bob = IdentityBinding(identity="bob", tenant="acme", tools=frozenset({"refund"}))
    return Gate(bindings=(kim, bob), **({"adapter": OpaToolPolicy(engine)} | settings))


def test_the_policy_decides_on_both_engines(engine: Any) -> None:
    asked = gate(engine)
    assert type(asked.ask(question("refund"))) is AccessGranted
    assert asked.refused(question("purge")) == ("tool_not_authorized", "access_denied_by_table")
    for changes in ({"tool": "new"}, {"principal": Principal(identity="bob")}, {"provider": "unknown"}):
        assert asked.refused(question(**changes))[0] == "tool_not_authorized"
    assert asked.refused(question("lookup"))[1] == "approval_not_configured"
    people = InProcessApprovals(lambda request: people.decide(request.request_id, "approved", "ann"))
    assert type(gate(engine, approvals=people).ask(question("lookup"))) is AccessGranted


async def test_from_an_event_loop_it_decides_alike(opa_binary: Path, engines: dict[str, Any]) -> None:
    async_gate = gate(engines["embedded"], adapter=AsyncOpaToolPolicy(engines["embedded"]))
    assert type(await async_gate.ask_async(question("refund"))) is AccessGranted
    refused = await async_gate.ask_async(question("purge"))
    assert type(refused) is AccessRefused
    assert refused.detail_code == "access_denied_by_table"


def test_the_question_is_the_request_with_its_digest_and_nothing_else() -> None:
    engine = ScriptedEngine(allow)
    OpaToolPolicy(engine).authorize_sync(REQUEST)
    (asked,) = engine.questions
    assert engine.paths == ["aioc/tool_access/decision"]
    request = {
        "deadlineSeconds": 30,
        "identity": "kim",
        "requestId": "ab" * 16,
        "resourceBudget": 1,
        "tenantId": "acmé",
        "toolName": "refund",
    }
    assert asked == {
        "contractVersion": "1",
        "kind": "access",
        "requestId": "ab" * 16,
        "requestDigest": hashlib.sha256(canonical_text(request).encode()).hexdigest(),
        "request": request,
    }


def allow(asked: dict[str, Any]) -> dict[str, Any]:
    echoes = {key: asked[key] for key in ("kind", "requestId", "requestDigest")}
    return {"decision": "allow", "reason": "allowed", **echoes}


def but(**changes: Any) -> Any:
    return lambda asked: {key: value for key, value in {**allow(asked), **changes}.items() if value is not ...}


def failing(error: BaseException) -> Any:
    def answer(_: dict[str, Any]) -> Any:
        raise error

    return answer


MALFORMED = Reason.POLICY_MALFORMED_DECISION
ANSWERS: dict[str, tuple[Any, Reason]] = {
    "undefined": (lambda _: UNDEFINED, Reason.POLICY_UNDEFINED),
    "true": (lambda _: True, MALFORMED),
    "a word": (lambda _: "allow", MALFORMED),
    "a list": (lambda _: [], MALFORMED),
    "an allow only": (lambda _: {"allow": True}, MALFORMED),
    "no echo": (but(requestDigest=...), MALFORMED),
    "an echo of another type": (but(requestId=5), MALFORMED),
    "one field more": (but(publicReason="hi"), MALFORMED),
    "null": (but(reason=None), MALFORMED),
    "another decision": (but(decision="permit"), MALFORMED),
    "an allow with a reason of its own": (but(reason="fine"), MALFORMED),
    "a deny that is allowed": (but(decision="deny"), MALFORMED),
    "a hold that nothing asks for": (but(decision="approval_required", reason="no_rule_allows"), MALFORMED),
    "a reserved reason": (but(decision="deny", reason="tool_not_authorized"), MALFORMED),
    "free text": (but(decision="deny", reason="My secret"), MALFORMED),
    "another request": (but(requestId="cd" * 16), Reason.POLICY_BINDING_MISMATCH),
    "another digest": (but(requestDigest="0" * 64), Reason.POLICY_BINDING_MISMATCH),
    "another kind": (but(kind="tool"), Reason.POLICY_BINDING_MISMATCH),
    "a failure": (
        failing(EngineFailureError(Reason.POLICY_EVALUATION_ERROR, "secret")),
        Reason.POLICY_EVALUATION_ERROR,
    ),
    "a timeout": (failing(TimeoutError()), Reason.POLICY_TIMEOUT),
    "a surprise": (failing(ValueError("secret")), Reason.POLICY_UNAVAILABLE),
    "no answer of its own": (failing(NoAnswerError(Reason.POLICY_UNDEFINED)), Reason.POLICY_UNDEFINED),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_any_other_answer_is_a_deny_with_its_reserved_reason(name: str) -> None:
    answer, reason = ANSWERS[name]
    engine = ScriptedEngine(answer)
    with pytest.raises(NoAnswerError) as caught:
        OpaToolPolicy(engine).authorize_sync(REQUEST)
    assert caught.value.reason is reason
    with pytest.raises(NoAnswerError) as caught:
        await AsyncOpaToolPolicy(engine).authorize(REQUEST)
    assert caught.value.reason is reason
    outcome = Gate(adapter=OpaToolPolicy(engine)).ask()
    assert type(outcome) is AccessRefused
    assert outcome.detail_code == reason.value
    assert "secret" not in str(caught.value)


def test_a_deny_keeps_the_policys_own_code() -> None:
    engine = ScriptedEngine(but(decision="deny", reason="no_rule_allows"))
    assert Gate(adapter=OpaToolPolicy(engine)).refused() == ("tool_not_authorized", "no_rule_allows")


class Revisions:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def accepts(self, policy_revision: str | None) -> Any:
        if self.answer is None:
            raise RuntimeError
        return self.answer


def test_only_an_accepted_revision_counts() -> None:
    engine = ScriptedEngine(allow)
    assert OpaToolPolicy(engine, revision_gate=Revisions(True)).authorize_sync(REQUEST).decision == "allow"
    for answer in (False, 1, None):
        with pytest.raises(NoAnswerError) as caught:
            OpaToolPolicy(engine, revision_gate=Revisions(answer)).authorize_sync(REQUEST)
        assert caught.value.reason is Reason.POLICY_REVISION_REJECTED


class Odd:
    """An engine that gives something else, or gives it late, or is interrupted."""

    name = "odd"

    def __init__(self, answer: Any = None, error: BaseException | None = None) -> None:
        self.answer = answer
        self.error = error

    def evaluate(self, path: Any, body: bytes, deadline: Any) -> Any:
        if self.error is not None:
            raise self.error
        if self.answer == "late":
            while not deadline.passed():
                pass
            return EngineAnswer(result=allow(json.loads(body)["input"]))
        return self.answer

    async def evaluate_async(self, path: Any, body: bytes, deadline: Any) -> Any:
        return self.evaluate(path, body, deadline)

    def close(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


async def test_what_is_no_engine_answer_or_comes_late_is_none() -> None:
    with pytest.raises(NoAnswerError, match="policy_unavailable"):
        OpaToolPolicy(Odd({"decision": "allow"})).authorize_sync(REQUEST)
    soon = REQUEST.model_copy(update={"deadline_seconds": 0.01})
    with pytest.raises(NoAnswerError, match="policy_timeout"):
        OpaToolPolicy(Odd("late")).authorize_sync(soon)
    with pytest.raises(KeyboardInterrupt):
        OpaToolPolicy(Odd(error=KeyboardInterrupt())).authorize_sync(REQUEST)
    with pytest.raises(asyncio.CancelledError):
        await AsyncOpaToolPolicy(Odd(error=asyncio.CancelledError())).authorize(REQUEST)


def test_a_request_that_cannot_be_asked_is_no_question() -> None:
    adapter = OpaToolPolicy(ScriptedEngine(allow))
    for request in (
        REQUEST.model_copy(update={"request_id": None}),
        REQUEST.model_copy(update={"identity": "\ud800"}),
        type("Sub", (ToolAuthorizationRequest,), {})(**REQUEST.model_dump()),
    ):
        with pytest.raises(NoAnswerError, match="policy_input_invalid"):
            adapter.authorize_sync(request)


def test_it_needs_an_engine_of_its_kind() -> None:
    for kind in (OpaToolPolicy, AsyncOpaToolPolicy):
        with pytest.raises(ConfigurationError, match="engine"):
            kind(object())
