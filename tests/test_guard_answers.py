"""What an engine answers or raises, and what the guard makes of it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.errors import (
    ToolCallPolicyDeniedError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Denied
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing, denying
from tests.guarded_shop import CANARY, ORDER, Order, Shop


class Panic(BaseException):
    pass


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (EngineFailureError(Reason.POLICY_UNAVAILABLE, CANARY), "policy_unavailable"),
        (EngineFailureError(Reason.POLICY_EVALUATION_ERROR, CANARY), "policy_evaluation_error"),
        (TimeoutError(CANARY), "policy_timeout"),
        (RuntimeError(CANARY), "policy_unavailable"),
        (ConnectionResetError(CANARY), "policy_unavailable"),
        (Panic(CANARY), "policy_unavailable"),
        (RecursionError(CANARY), "policy_unavailable"),
        (MemoryError(CANARY), "policy_unavailable"),
    ],
)
def test_every_exception_of_an_engine_is_a_deny_that_shows_none_of_its_text(
    raised: BaseException, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "aioc_opa")
    shop = Shop(ScriptedEngine(lambda question: raised))
    with pytest.raises(ToolCallPolicyDeniedError) as caught:
        shop.guard.call("order", ORDER, agent_name="agent")
    assert caught.value.code == reason
    assert CANARY not in str(caught.value) + repr(caught.value.denied) + caplog.text
    assert caught.value.__cause__ is None
    assert shop.ran == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_being_told_to_stop_stops_and_runs_nothing(stop: type[BaseException]) -> None:
    shop = Shop(ScriptedEngine(lambda question: stop()))
    with pytest.raises(stop):
        shop.guard.call("order", ORDER, agent_name="agent")
    assert shop.ran == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda q: UNDEFINED, "policy_undefined"),
        (lambda q: True, "policy_malformed_decision"),
        (lambda q: {"allow": True}, "policy_malformed_decision"),
        (lambda q: {**allowing(q), "proposalHash": "0" * 64}, "policy_binding_mismatch"),
        (lambda q: {**allowing(q), "requestId": "earlier"}, "policy_binding_mismatch"),
        (lambda q: {**allowing(q), "kind": "handoff"}, "policy_binding_mismatch"),
        (lambda q: {**denying(q), "reason": "policy_timeout", "reasons": ["policy_timeout"]}, "policy_malformed_decision"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_count_denies(answer: Any, reason: str) -> None:
    shop = Shop(ScriptedEngine(answer))
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent")
    assert isinstance(outcome, Denied)
    assert (outcome.code, outcome.reasons, outcome.decision) == (reason, (), None)


class Oddly(ScriptedEngine):
    """Gives something that is no `EngineAnswer`, or raises a failure with a reason that is none."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def evaluate(self, *args: Any) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


@pytest.mark.parametrize("given", [None, True, {}, "allow", 7, EngineFailureError("weird", "x"), ValueError])  # type: ignore[arg-type] # the point
def test_an_engine_that_keeps_no_contract_is_a_deny(given: Any) -> None:
    shop = Shop(Oddly(given))
    assert shop.guard.authorize("order", ORDER, agent_name="agent").code == "policy_unavailable"
    assert shop.guard.authorize_handoff("x", "{}", from_agent_name="agent").code == "policy_unavailable"


def test_an_expired_allow_of_a_handoff_is_denied() -> None:
    engine = ScriptedEngine(lambda q: {**allowing(q), "expiresAt": "2001-01-01T00:00:00Z"})
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    assert guard.authorize_handoff("x", "{}", from_agent_name="agent").code == "permit_invalid"


def test_a_late_answer_denies_even_when_it_allows() -> None:
    shop = Shop(ScriptedEngine(meanwhile=threading.Event().wait), deadline=0.05)
    shop.engine.meanwhile = lambda: threading.Event().wait(0.1)
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent")
    assert outcome.code == "policy_timeout"


class Gate:
    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict

    def accepts(self, policy_revision: str | None) -> Any:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


@pytest.mark.parametrize("verdict", [False, None, 1, "yes", ValueError("x")])
def test_a_revision_that_is_not_accepted_denies(verdict: Any) -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=Gate(verdict))
    guard.register_model("order", Order, lambda order: None)
    assert guard.authorize("order", ORDER, agent_name="agent").code == "policy_revision_rejected"
    assert guard.authorize_handoff("x", "{}", from_agent_name="agent").code == "policy_revision_rejected"
