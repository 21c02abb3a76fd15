"""Composition of the allow-lists. Empty means none; absent means legacy; the difference is tested here."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.access.details import Detail
from aioc_opa.access.gate import AccessGate, AccessGranted, ToolMetadata
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.engines.deadline import Deadline
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.principal import Principal
from tests.access.gating import Gate, question

NONE: frozenset[str] = frozenset()


def bound(**lists: Any) -> tuple[IdentityBinding, ...]:
    return (IdentityBinding(identity="kim", **lists),)


def detail(gate: Gate, **changes: Any) -> str:
    outcome = gate.ask(question(**changes))
    return "granted" if type(outcome) is AccessGranted else outcome.detail_code  # type: ignore[union-attr] # the other one


def test_an_empty_list_of_tools_is_none_and_an_absent_one_is_legacy() -> None:
    assert detail(Gate(bindings=bound(tools=NONE), legacy_tools=["refund"])) == "tool_not_in_allow_list"
    assert detail(Gate(bindings=bound(), legacy_tools=["refund"])) == "granted"
    assert detail(Gate(bindings=bound())) == "tool_not_in_legacy_tools"
    # A list of one's own is not widened by the legacy tools.
    mine = bound(tools=frozenset({"lookup"}))
    assert detail(Gate(bindings=mine, legacy_tools=["refund"])) == "tool_not_in_allow_list"


def test_a_claimed_tenant_that_equals_anything_is_replaced_by_the_one_of_the_binding() -> None:
    class Anything(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    claim = Principal.model_construct(identity="kim", tenant=Anything("victim"), roles=(), on_behalf_of=None)
    for tenant in ("acme", None):
        gate = Gate(bindings=bound(tenant=tenant, tools=frozenset({"refund"})))
        outcome = gate.ask(question(principal=claim))
        assert type(outcome) is AccessGranted
        assert type(outcome.principal.tenant) is type(tenant)
        assert {event.tenant_id for event in gate.sink.events} == {tenant}


def test_an_empty_list_of_capabilities_is_none_and_an_absent_one_is_no_list() -> None:
    tools = frozenset({"refund"})
    none = Gate(bindings=bound(tools=tools, capabilities=NONE))
    assert detail(none) == "capability_missing"
    assert detail(none, capability="chat") == "capability_not_granted"
    assert detail(Gate(bindings=bound(tools=tools))) == "granted"
    assert detail(Gate(bindings=bound(tools=tools)), capability="chat") == "granted"


def test_with_capability_lists_a_call_must_name_a_known_one_that_has_the_tool() -> None:
    gate = Gate(capabilities={"chat": ["refund"], "empty": []})
    assert detail(gate, capability="chat") == "granted"
    assert detail(gate) == "capability_missing"
    assert detail(gate, capability="unheard-of") == "capability_unknown"
    assert detail(gate, capability="empty") == "tool_not_in_capability"
    assert detail(Gate(capabilities={}), capability="chat") == "capability_unknown"


def test_no_capability_list_widens_what_an_identity_may_use() -> None:
    gate = Gate(bindings=bound(tools=NONE, capabilities=frozenset({"chat"})), capabilities={"chat": ["refund"]})
    assert detail(gate, capability="chat") == "tool_not_in_allow_list"


def test_the_tenant_is_the_bindings_and_a_claim_without_one_is_cleared() -> None:
    claimed = Principal(identity="kim", tenant="claimed", roles=("clerk",), on_behalf_of=("bo",))
    granted = Gate(bindings=bound(tenant="acme", tools=frozenset({"refund"}))).ask(question(principal=claimed))
    assert type(granted) is AccessGranted
    assert granted.principal == Principal(identity="kim", tenant="acme", roles=("clerk",), on_behalf_of=("bo",))
    unbound = Gate(bindings=(), legacy_tools=["refund"]).ask(question(principal=claimed))
    assert type(unbound) is AccessGranted
    assert unbound.principal.tenant is None
    assert AccessGate(identities=IdentityBindings()).bound(None) is None
    assert AccessGate(identities=IdentityBindings()).bound(claimed) == unbound.principal


def test_a_call_without_a_principal_is_refused_also_where_the_tool_is_legacy() -> None:
    assert detail(Gate(legacy_tools=["refund"]), principal=None) == "identity_missing"


class Liar:
    def __init__(self, found: Any) -> None:
        self.found = found

    def find(self, identity: str) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.mark.parametrize("found", [
    OSError("secret"),
    True,
    {"identity": "kim", "tools": ["refund"]},
    IdentityBinding(identity="another", tools=frozenset({"refund"})),
    type("Sub", (IdentityBinding,), {})(identity="kim", tools=frozenset({"refund"})),
])  # fmt: skip
def test_a_directory_that_fails_or_lies_binds_nobody(found: Any) -> None:
    gate = AccessGate(identities=Liar(found), legacy_tools=["refund"])
    outcome = gate.authorize(question(), Deadline.after(30))
    assert (type(outcome) is AccessGranted, getattr(outcome, "detail_code", "")) == (False, "directory_failed")
    assert gate.visible(Principal(identity="kim"), None, [ToolMetadata(name="refund")]) == ()


def test_visible_tools_are_those_that_the_lists_let_this_caller_use_and_none_when_in_doubt() -> None:
    tools = [ToolMetadata(name=name) for name in ("refund", "lookup", "purge")]
    kim = Principal(identity="kim")
    gate = Gate(capabilities={"chat": ["refund", "purge"]}).gate
    assert gate.visible(kim, "chat", tools) == ("refund",)
    assert Gate().gate.visible(kim, None, tools) == ("lookup", "refund")
    for principal, capability in [(None, "chat"), (kim, None), (kim, "other"), (kim, "x" * 129)]:
        assert gate.visible(principal, capability, tools) == ()
    assert gate.visible(kim, "chat", 5) == ()  # type: ignore[arg-type] # it fails to empty


def test_a_gate_that_cannot_be_is_refused_at_once() -> None:
    some = IdentityBindings()
    for settings in (
        {"identities": None},
        {"identities": some, "legacy_tools": "refund"},
        {"identities": some, "legacy_tools": [5]},
        {"identities": some, "capabilities": {"chat": "refund"}},
        {"identities": some, "capabilities": {5: ["refund"]}},
        {"identities": some, "adapter": object()},
        {"identities": some, "approvals": object()},
        {"identities": some, "budgets": 5},
        {"identities": some, "events": object()},
        {"identities": some, "counters": object()},
    ):
        with pytest.raises(ConfigurationError):
            AccessGate(**settings)  # type: ignore[arg-type] # that is the point


def test_a_binding_takes_exact_types_only() -> None:
    for facts in (
        {"identity": ""},
        {"identity": 5},
        {"identity": "x" * 129},
        {"identity": "kim", "tenant": ""},
        {"identity": "kim", "tools": {"refund"}},
        {"identity": "kim", "tools": frozenset({5})},
        {"identity": "kim", "capabilities": ["chat"]},
    ):
        with pytest.raises(ConfigurationError):
            IdentityBinding(**facts)  # type: ignore[arg-type] # likewise
    kim = IdentityBinding(identity="kim")
    with pytest.raises(ConfigurationError, match="twice"):
        IdentityBindings([kim, kim])
    with pytest.raises(ConfigurationError, match="dict"):
        IdentityBindings([{"identity": "kim"}])  # type: ignore[list-item] # likewise


def test_details_are_codes() -> None:
    for code in Detail:
        assert code.value.replace("_", "").islower()
