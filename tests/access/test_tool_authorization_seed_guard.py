"""The sentences of docs/rfc/tool-authorization-and-policy.txt that it takes a guard, a loop or a process to show."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from aioc_opa import Allowed, Denied, ToolArgumentsValidationError, ToolGuard, UnsafeAnyRevision
from aioc_opa.access.gate import AccessGate, AccessGranted
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.models.tool_authorization import ToolApprovalRequest, ToolApprovalResult
from tests.access.gating import Adapter, Approvals, Gate, answering, question, result
from tests.access.guarded_access import CALL, Both, gate
from tests.access.sentences import named_by, sentence, statements
from tests.doubles import ScriptedEngine

if TYPE_CHECKING:
    from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult

WORDS_THAT_NAME_A_STATEMENT = 4


@pytest.mark.parametrize("statement", statements())
def test_every_statement_is_named_by_a_test(statement: str) -> None:
    named = named_by(sorted(Path(__file__).parent.glob("test_tool_authorization_seed*.py")))
    parts = [part for text in named for part in text.rstrip(".").split("; ")]
    parts = [part for part in parts if len(part.split()) >= WORDS_THAT_NAME_A_STATEMENT]
    assert any(part in statement or statement in part for part in parts)


def test_it_is_the_boundary_of_controlled_invocations_and_nothing_reaches_a_handler_around_it() -> None:
    sentence("This document defines the policy boundary for controlled tool invocations.")
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), access=gate())
    entered: list[str] = []

    @guard.tool()
    def refund(order: str) -> str:
        entered.append(order)
        return "paid back"

    with pytest.raises(TypeError, match=r"guard\.call"):
        refund("A7")
    assert not hasattr(refund, "__wrapped__")
    assert entered == []
    assert guard.call("refund", '{"order": "A7"}', **CALL) == "paid back"
    assert entered == ["A7"]


def test_it_extends_the_capability_lists_and_introduces_no_hosted_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence(
        "It extends the existing capability authorization allow-list; it does not introduce a hosted policy engine."
    )

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the gate decides by itself")

    lists: dict[str, Any] = {"capabilities": {"chat": ["refund"], "billing": ["lookup"]}}
    lone = Gate(**lists)
    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(subprocess, "Popen", refused)
    assert type(lone.ask(question(capability="chat"))) is AccessGranted
    assert lone.refused(question(capability="billing")) == ("tool_not_authorized", "tool_not_in_capability")
    # An adapter adds to what the lists refuse, and takes nothing off it.
    assert Gate(adapter=answering("deny"), **lists).refused(question(capability="chat"))[1] == "because"
    assert Gate(adapter=answering("allow"), **lists).refused(question(capability="billing"))[1] == (
        "tool_not_in_capability"
    )


def test_authorization_is_evaluated_before_the_handler_starts(kind: str) -> None:
    sentence("Authorization is evaluated before a registered tool handler starts.")
    seen: list[list[str]] = []

    def looks(_: ToolAuthorizationRequest) -> ToolAuthorizationResult:
        seen.append(list(both.entered))
        return result("allow")

    both = Both(kind, access=gate(adapter=Adapter(looks)))
    assert both.call(arguments='{"order": "A7"}') == "paid back"
    assert both.call(arguments='{"order": "A8"}') == "paid back"
    assert seen == [[], ["A7"]]
    assert both.entered == ["A7", "A8"]


class _HostileError(Exception):
    pass


def _raises(_: object) -> NoReturn:
    raise _HostileError("sk-canary")


REFUSALS: dict[str, dict[str, Any]] = {
    "denied": {"adapter": answering("deny")},
    "no decision": {"adapter": Adapter(lambda _: "allow")},
    "raised": {"adapter": Adapter(_raises)},
    "nobody to ask": {"adapter": answering("approval_required")},
    "denied by a person": {
        "adapter": answering("approval_required"),
        "approvals": Approvals(lambda asked: ToolApprovalResult.answering(asked, "denied", reason_code="no")),
    },
    "no answer of a person": {"adapter": answering("approval_required"), "approvals": Approvals(_raises)},
    "not in the list": {"identities": IdentityBindings([IdentityBinding(identity="kim", tools=frozenset())])},
}


@pytest.mark.parametrize("name", REFUSALS)
def test_on_a_denial_the_handler_is_not_invoked(kind: str, name: str) -> None:
    sentence("the handler is not invoked")
    both = Both(kind, access=gate(**REFUSALS[name]), result_mode="tool_result")
    outcome = both.call(arguments='{"order": "A7"}')
    assert (outcome.status, outcome.code) == ("denied", "tool_not_authorized")
    assert both.entered == []
    assert both.engine.questions == []


def test_the_policy_adapter_runs_before_argument_validation(kind: str) -> None:
    sentence(
        "When configured on ToolExecutor, the policy adapter runs before argument validation and handler invocation"
    )
    adapter = answering("deny")
    both = Both(kind, access=gate(adapter=adapter))
    outcome = both.authorize(arguments="no JSON at all")
    assert isinstance(outcome, Denied)
    assert (outcome.code, outcome.stage, len(adapter.requests)) == ("tool_not_authorized", "access", 1)
    allowing = answering("allow")
    with pytest.raises(ToolArgumentsValidationError):
        Both(kind, access=gate(adapter=allowing)).authorize(arguments="no JSON at all")
    assert len(allowing.requests) == 1


async def test_applications_may_provide_local_asynchronous_adapters_of_both_kinds() -> None:
    sentence("Applications may provide a local asynchronous policy or approval adapter.")
    loops = []

    class Local:
        async def authorize(self, _: ToolAuthorizationRequest) -> ToolAuthorizationResult:
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return result("approval_required")

        async def request_approval(self, asked: ToolApprovalRequest) -> ToolApprovalResult:
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return ToolApprovalResult.answering(asked, "approved", reason_code="fine")

    both = Both("async", access=gate(adapter=Local(), approvals=Local()))
    outcome = await both.guard.authorize("refund", '{"order": "A7"}', **CALL)
    assert isinstance(outcome, Allowed)
    assert loops == [asyncio.get_running_loop()] * 2


def test_services_credential_stores_and_approval_uis_stay_with_the_deployment() -> None:
    sentence("External policy services, credential stores, and approval UIs remain deployment-owned integrations.")
    # The gate loads nothing that could be one: no client, no server, no database, no keys.
    program = (
        "import sys, aioc_opa.access.gate, aioc_opa.access.in_process_approvals\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for absent in ("sqlalchemy", "psycopg", "cryptography", "regorus", "keyring", "httpx", "requests", "wsgiref"):
        assert f"'{absent}'" not in ran.stdout
    assert "'aioc_opa'" in ran.stdout
    # What it does not have, it does not make up either.
    with pytest.raises(TypeError):
        AccessGate()  # type: ignore[call-arg] # that is the point
    assert Gate(adapter=answering("approval_required")).refused()[1] == "approval_not_configured"


def test_the_approval_request_and_its_decision_are_bounded() -> None:
    sentence(
        "The bounded approval request and decision contract is documented in Agent Runtime human-approval contract."
    )
    asked = Approvals(lambda one: ToolApprovalResult.answering(one, "approved", reason_code="fine", decided_by="ann"))
    assert type(Gate(adapter=answering("approval_required"), approvals=asked).ask(seconds=300)) is AccessGranted
    (request,) = asked.requests
    assert set(ToolApprovalRequest.model_fields) == {
        "request_id", "parent_execution_id", "tool_name", "tool_version", "identity", "created_at", "expires_at",
        "reason_code", "fingerprint",
    }  # fmt: skip
    assert set(ToolApprovalResult.model_fields) == {
        "decision", "reason_code", "request_id", "fingerprint", "decided_by"
    }  # fmt: skip
    open_for = datetime.fromisoformat(request.expires_at) - datetime.fromisoformat(request.created_at)
    assert open_for == timedelta(seconds=10)
    assert len(request.model_dump_json()) < 1500
