"""Each sentence of docs/rfc/tool-authorization-and-policy.txt that the gate can show; test_tool_authorization_seed_guard has the rest."""

from __future__ import annotations

import inspect
import json
import typing

import pydantic
import pytest

from aioc_opa.access.adapters import ToolPolicyAdapter
from aioc_opa.access.gate import AccessGranted, AccessRefused
from aioc_opa.access.identities import IdentityBinding
from aioc_opa.access.in_process_approvals import InProcessApprovals
from aioc_opa.core.reasons import Reason
from aioc_opa.models.access_event import AccessEvent
from aioc_opa.models.principal import Principal
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult
from tests.access.gating import Adapter, Gate, answering, question, result
from tests.access.sentences import sentence

ALLOWED_INPUTS = {
    "request_id", "execution_id", "identity", "tenant_id", "tool_name", "tool_version", "capability", "provider",
    "model", "deadline_seconds", "resource_budget",
}  # fmt: skip


def test_policy_receives_only_identity_and_tenant_tool_name_and_version_context_and_bounded_metadata() -> None:
    sentence("Policy receives only the authenticated identity and tenant binding, canonical tool name and version")
    adapter = answering("allow")
    asked = question(capability="chat", provider="p", model="m")
    Gate(adapter=adapter).ask(asked, seconds=5)
    (request,) = adapter.requests
    assert set(type(request).model_fields) == ALLOWED_INPUTS
    left = request.deadline_seconds
    assert 0 < left <= 5
    assert request.model_dump() == {
        "request_id": asked.request_id,
        "execution_id": "run-1",
        "identity": "kim",
        "tenant_id": "acme",
        "tool_name": "refund",
        "tool_version": "1.0",
        "capability": "chat",
        "provider": "p",
        "model": "m",
        "deadline_seconds": left,
        "resource_budget": 1,
    }


def test_raw_arguments_credentials_headers_payloads_and_objects_are_not_policy_inputs() -> None:
    sentence(
        "Raw tool arguments, credentials, arbitrary headers, provider payloads, and implementation objects are not"
    )
    base = {"identity": "kim", "tool_name": "refund", "deadline_seconds": 1.0}
    ToolAuthorizationRequest.model_validate(base)
    for extra in ("arguments", "raw_arguments", "headers", "credentials", "payload", "context", "roles"):
        with pytest.raises(pydantic.ValidationError):
            ToolAuthorizationRequest.model_validate(base | {extra: "x"})
    for name in ALLOWED_INPUTS:
        for value in (object(), {"a": 1}, ["a"], b"x", "x" * 129, ""):
            with pytest.raises(pydantic.ValidationError):
                ToolAuthorizationRequest.model_validate(base | {name: value})


@pytest.mark.parametrize("decision", ["allow", "deny", "approval_required"])
def test_the_decision_is_allow_deny_or_approval_required(decision: str) -> None:
    sentence("The decision is allow, deny, or approval_required.")
    outcome = Gate(adapter=answering(decision)).ask()
    assert (type(outcome) is AccessGranted) == (decision == "allow")
    with pytest.raises(pydantic.ValidationError):
        result("perhaps")


def test_a_denial_is_a_stable_tool_not_authorized_and_emits_a_bounded_event() -> None:
    sentence("A denial returns a stable tool_not_authorized error and emits a bounded audit event")
    gate = Gate(adapter=answering("deny", "not_today"))
    assert gate.refused() == ("tool_not_authorized", "not_today")
    event = gate.sink.events[-1]
    assert (event.type, event.decision, event.reason) == ("tool.authorization.decided", "deny", "tool_not_authorized")
    assert event.detail_code == "not_today"
    assert len(event.model_dump_json()) < 2500


def test_approval_is_explicit_bounded_and_ends_in_a_stable_decision_or_approval_timed_out() -> None:
    sentence("Approval is explicit, bounded, and must produce a stable decision or approval_timed_out.")
    gate = Gate(adapter=answering("approval_required"), approvals=InProcessApprovals())
    assert gate.refused(seconds=0.15) == ("approval_timed_out", "approval_expired")
    told = InProcessApprovals(lambda request: told.decide(request.request_id, "approved", "ann"))
    assert type(Gate(adapter=answering("approval_required"), approvals=told).ask()) is AccessGranted
    no = InProcessApprovals(lambda request: no.decide(request.request_id, "denied", "ann"))
    refused = Gate(adapter=answering("approval_required"), approvals=no).refused()
    assert refused == ("tool_not_authorized", "denied_by_person")


def test_an_identitys_tool_allow_list_is_intersected_with_the_registered_tools() -> None:
    sentence("An identity's tool allow-list is intersected with the application's registered tools.")
    bindings = (IdentityBinding(identity="kim", tools=frozenset({"refund", "never_registered"})),)
    gate = Gate(bindings=bindings)
    assert type(gate.ask(question("refund"))) is AccessGranted
    assert gate.refused(question("lookup")) == ("tool_not_authorized", "tool_not_in_allow_list")
    missing = question("never_registered", registered=None)
    assert gate.refused(missing) == ("tool_not_registered", "tool_not_registered")


def test_capability_allow_lists_are_evaluated_first_so_tool_policy_cannot_grant_what_they_deny() -> None:
    sentence("Capability allow-lists are evaluated first, so tool policy cannot grant access to a capability")
    adapter = answering("allow")
    bindings = (IdentityBinding(identity="kim", tools=frozenset({"refund"}), capabilities=frozenset({"chat"})),)
    gate = Gate(bindings=bindings, capabilities={"chat": ["lookup"], "billing": ["refund"]}, adapter=adapter)
    assert gate.refused(question(capability="billing"))[1] == "capability_not_granted"
    assert gate.refused(question(capability="chat"))[1] == "tool_not_in_capability"
    # Both lists refuse: the capability's answer comes first.
    assert gate.refused(question("other", capability="billing"))[1] == "capability_not_granted"
    assert adapter.requests == []


def test_legacy_unbound_identities_remain_compatible_and_gain_no_implicit_tool_access() -> None:
    sentence("Legacy unbound API keys remain compatible and do not gain implicit tool access")
    sentence("applications must explicitly register and provide the tool executor")
    legacy = question(principal=Principal(identity="old-key", tenant="claimed"))
    assert Gate().refused(legacy) == ("tool_not_authorized", "tool_not_in_legacy_tools")
    granted = Gate(legacy_tools=["refund"]).ask(legacy)
    assert type(granted) is AccessGranted
    assert granted.principal.tenant is None
    unregistered = question(registered=None, principal=Principal(identity="old-key"))
    assert Gate(legacy_tools=["refund"]).refused(unregistered)[0] == "tool_not_registered"


def test_the_adapter_must_obey_the_deadline_and_return_a_stable_decision() -> None:
    sentence("The adapter must obey the runtime deadline and return a stable decision.")
    assert Gate(adapter=Adapter(lambda _: "allow")).refused() == ("tool_not_authorized", "adapter_malformed")
    late = Adapter(lambda request: __import__("time").sleep(0.3) or result())
    assert Gate(adapter=late).refused(seconds=0.05) == ("access_deadline_exceeded", "deadline")


def test_the_models_are_immutable_and_the_protocol_is_asynchronous() -> None:
    sentence(
        "immutable ToolAuthorizationRequest and ToolAuthorizationResult models plus the asynchronous ToolPolicyAdapter"
    )
    with pytest.raises(pydantic.ValidationError):
        result().decision = "deny"  # type: ignore[misc] # frozen: that is what is tested
    request = ToolAuthorizationRequest(identity="kim", tool_name="refund", deadline_seconds=1.0)
    with pytest.raises(pydantic.ValidationError):
        request.identity = "bob"  # type: ignore[misc] # likewise
    assert inspect.iscoroutinefunction(ToolPolicyAdapter.authorize)
    assert set(ToolAuthorizationResult.model_fields) == {"decision", "reason_code"}


def test_adapters_must_not_receive_invocation_arguments() -> None:
    sentence("Requests contain identity, tool metadata, execution context, and bounded budgets only")
    sentence("adapters must not receive invocation arguments")
    hints = typing.get_type_hints(ToolAuthorizationRequest, include_extras=False)
    assert {hint for name, hint in hints.items() if name in ALLOWED_INPUTS} == {str, str | None, float, int}


def test_omitted_adapters_preserve_the_behaviour_without_one() -> None:
    sentence("omitted adapters preserve legacy execution")
    gate = Gate()
    assert type(gate.ask()) is AccessGranted
    assert gate.refused(question("other"))[0] == "tool_not_authorized"


def test_bounded_requested_and_decided_events_and_the_counter() -> None:
    sentence("emits bounded tool.authorization.requested and tool.authorization.decided events and records decisions")
    gate = Gate()
    gate.ask()
    gate.ask(question("other"))
    assert gate.sink.types == ["tool.authorization.requested", "tool.authorization.decided"] * 2
    counts = gate.counters.snapshot()
    assert counts["trussium_tool_authorization_decisions", (("decision", "allow"),)] == 1
    assert counts["trussium_tool_authorization_decisions", (("decision", "deny"),)] == 1


def test_events_include_correlation_ids_identity_tool_decision_reason_and_duration_and_nothing_else() -> None:
    sentence(
        "Policy and audit events include correlation identifiers, identity and tool names, decision, stable reason"
    )
    gate = Gate()
    asked = question()
    gate.ask(asked)
    event = json.loads(gate.sink.events[-1].model_dump_json(by_alias=True, exclude_none=True))
    assert event.pop("durationMs") >= 0
    assert event.pop("at").endswith("Z")
    assert event == {
        "type": "tool.authorization.decided",
        "requestId": asked.request_id,
        "executionId": "run-1",
        "callId": "call-1",
        "identity": "kim",
        "tenantId": "acme",
        "toolName": "refund",
        "toolVersion": "1.0",
        "decision": "allow",
        "reason": "allowed",
        "detailCode": "allowed",
    }


def test_events_never_include_arguments_outputs_credentials_exception_text_or_payloads() -> None:
    sentence("They never include arguments, outputs, credentials, exception text, or provider-specific payloads.")
    assert set(AccessEvent.model_fields) == {
        "type", "at", "request_id", "execution_id", "call_id", "identity", "tenant_id", "tool_name", "tool_version",
        "decision", "reason", "detail_code", "decided_by", "duration_ms",
    }  # fmt: skip

    def raising(_: object) -> object:
        raise RuntimeError("sk-canary-secret")

    gate = Gate(adapter=Adapter(raising))
    assert type(gate.ask()) is AccessRefused
    assert all("canary" not in event.model_dump_json() for event in gate.sink.events)
    assert gate.sink.events[-1].detail_code == "adapter_failed"


def test_unknown_and_forbidden_are_told_apart_by_the_audit_only() -> None:
    """Design 2: a denied caller learns neither the schema nor the existence of a tool."""
    gate = Gate()
    assert gate.refused(question("other"))[0] == Reason.TOOL_NOT_AUTHORIZED
    assert gate.refused(question("secret-name", registered=None))[0] == Reason.TOOL_NOT_REGISTERED
    shown = gate.sink.events[-1].tool_name
    assert shown.startswith("sha256:")
    assert "secret" not in shown
