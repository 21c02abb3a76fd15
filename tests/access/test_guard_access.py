"""Step 1 as a caller of the guard meets it: before any argument is read, silent about tools, first of all steps."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import Any

import pytest

from aioc_opa import (
    Denied,
    Principal,
    Reason,
    Suspended,
    ToolArgumentsValidationError,
    ToolCallPolicyDeniedError,
)
from aioc_opa.access.identities import IdentityBindings
from aioc_opa.access.opa_adapter import OpaToolPolicy
from aioc_opa.models.tool_authorization import ToolApprovalResult
from tests.access.gating import Adapter, Approvals, Remembering, result
from tests.access.guarded_access import CANARY, Both, gate
from tests.doubles import ScriptedEngine, holding


def test_the_gate_runs_before_argument_validation_and_handler(kind: str) -> None:
    both = Both(kind, access=gate())
    outcome = both.authorize("purge", "no JSON at all")
    assert (outcome.code, outcome.stage) == ("tool_not_authorized", "access")
    assert both.engine.questions == []
    assert both.entered == []
    with pytest.raises(ToolArgumentsValidationError):
        both.authorize("refund", "no JSON at all")


def test_unknown_and_forbidden_look_alike_to_the_caller_and_the_audit_tells_them_apart(kind: str) -> None:
    both = Both(kind, access=gate())
    forbidden, unknown = both.authorize("purge"), both.authorize("nothing_of_the_kind")
    assert {forbidden.audit_code, unknown.audit_code} == {"tool_not_authorized", "tool_not_registered"}

    def seen(outcome: Denied) -> dict[str, Any]:
        return {name: value for name, value in asdict(outcome).items() if name not in {"audit_code", "duration_ms"}}

    assert seen(forbidden) == seen(unknown)
    assert repr(forbidden).partition("duration_ms")[0] == repr(unknown).partition("duration_ms")[0]
    errors = []
    for tool in ("purge", "nothing_of_the_kind"):
        with pytest.raises(ToolCallPolicyDeniedError) as caught:
            both.call(tool)
        errors.append((str(caught.value), caught.value.code, caught.value.public_reason))
    assert errors[0] == errors[1]


def test_a_denial_says_nothing_about_the_schema(kind: str) -> None:
    both = Both(kind, access=gate(), result_mode="tool_result")
    refused = both.call("purge", '{"wrong": 1}')
    assert refused.model_dump() == {
        "status": "denied",
        "code": "tool_not_authorized",
        "public_reason": "This tool is not available.",
        "data": {},
    }


def test_a_canary_in_arguments_and_context_reaches_nothing_of_step_1(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    access_engine = ScriptedEngine(
        lambda question: {"decision": "allow", "reason": "allowed", **_access_echoes(question)}
    )
    policy, events = Adapter(lambda request: result("allow")), Remembering()
    asked = Approvals(lambda request: None)
    for adapter in (policy, OpaToolPolicy(access_engine)):
        both = Both(kind, access=gate(adapter=adapter, approvals=asked, events=events))
        assert both.call() == "paid back"
        both.authorize("purge")
        both.authorize(CANARY)
    written = [
        *(request.model_dump_json() for request in policy.requests),
        *(event.model_dump_json() for event in events.events),
        json.dumps(access_engine.questions),
        caplog.text,
    ]
    assert access_engine.questions
    assert not [text for text in written if CANARY in text]


def _access_echoes(question: dict[str, Any]) -> dict[str, Any]:
    return {key: question[key] for key in ("requestId", "requestDigest", "kind")}


@pytest.mark.parametrize("broken", [RuntimeError(CANARY), ValueError(CANARY)])
def test_a_gate_that_raises_or_lies_is_a_deny(kind: str, broken: Exception, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def authorize(self, *_: Any) -> Any:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        async def authorize_async(self, *_: Any) -> Any:
            return self.authorize()

        visible = require_usable = bound = lambda *_, **__: ()

    for answer in (broken, True, None, "allow", {"decision": "allow"}):
        both = Both(kind, access=Broken(answer))
        outcome = both.authorize()
        assert (outcome.code, outcome.audit_code) == ("tool_not_authorized", "tool_not_authorized")
    assert CANARY not in caplog.text


def test_the_tenant_is_the_bindings_whatever_the_principal_claims(kind: str) -> None:
    both = Both(kind, access=gate())
    both.authorize(principal=Principal(identity="kim", tenant="somebody-elses"))
    assert both.engine.questions[-1]["principal"]["tenant"] == "acme"
    legacy = Both(kind, access=gate(identities=IdentityBindings(), legacy_tools={"refund"}))
    legacy.authorize(principal=Principal(identity="kim", tenant="somebody-elses"))
    assert "tenant" not in legacy.engine.questions[-1]["principal"]


def test_an_approval_of_step_1_never_counts_for_the_arguments(kind: str) -> None:
    approved = Approvals(_approved)
    access = gate(adapter=Adapter(lambda request: result("approval_required")), approvals=approved)
    both = Both(kind, ScriptedEngine(holding), access=access)
    outcome = both.authorize()
    assert isinstance(outcome, Suspended)
    assert len(approved.requests) == 1
    assert "approval" not in both.engine.questions[-1]


def _approved(request: Any) -> Any:
    return ToolApprovalResult.answering(request, "approved", reason_code="fine")


def test_a_person_who_does_not_decide_in_time_gives_approval_timed_out(kind: str) -> None:
    expired = Approvals(lambda request: ToolApprovalResult.answering(request, "expired", reason_code="nobody"))
    access = gate(adapter=Adapter(lambda request: result("approval_required")), approvals=expired)
    outcome = Both(kind, access=access).authorize()
    assert (outcome.code, outcome.stage) == (Reason.APPROVAL_TIMED_OUT, "access")
