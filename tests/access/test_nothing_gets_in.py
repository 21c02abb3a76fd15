"""No argument, credential, header, payload or object gets into step 1: by construction, and with a canary."""

from __future__ import annotations

import dataclasses
import logging
import os
from typing import Any

import pytest

from aioc_opa.access.gate import AccessGate, AccessGranted, AccessQuestion, AccessRefused, ToolMetadata
from aioc_opa.access.identities import IdentityBinding, IdentityBindings
from aioc_opa.access.opa_adapter import OpaToolPolicy
from aioc_opa.engines.deadline import Deadline
from aioc_opa.models.principal import Principal
from tests.access.gating import Adapter, Remembering, question, result
from tests.doubles import ScriptedEngine

CANARY = "sk-canary-7f3a"


class Text(str):  # noqa: SLOT000 - room for anything is the point
    """Equal to a name, and carries more."""

    secret = CANARY

    def __repr__(self) -> str:
        return CANARY

    def __format__(self, spec: str) -> str:
        return CANARY

    def __str__(self) -> str:
        return CANARY


class Carrier(Principal):
    """A principal with more in it."""

    headers: str = CANARY


def test_the_question_has_no_field_for_arguments_or_context() -> None:
    assert [field.name for field in dataclasses.fields(AccessQuestion)] == [
        "tool_name", "registered", "run_id", "run_id_given", "call_id", "request_id", "principal", "capability",
        "provider", "model",
    ]  # fmt: skip
    assert [field.name for field in dataclasses.fields(ToolMetadata)] == ["name", "version", "cost"]
    with pytest.raises(TypeError):
        question(arguments=CANARY)
    assert not hasattr(question(), "__dict__")


def principals() -> dict[str, Any]:
    stuffed = Principal.model_construct(identity=Text("kim"), tenant="acme")
    extra = Principal.model_construct(identity="kim", tenant=CANARY, headers=CANARY)
    object.__setattr__(extra, "__dict__", {**vars(extra), "authorization": CANARY})
    return {
        "subclass": Carrier(identity="kim"),
        "str subclass": stuffed,
        "extra attributes": extra,
        "roles": Principal(identity="kim", tenant=CANARY, roles=(CANARY,), on_behalf_of=(CANARY,)),
        "a dict": {"identity": "kim", "headers": CANARY},
        "oversized": Principal.model_construct(identity=CANARY * 100),
        "surrogate": Principal.model_construct(identity="\ud800" + CANARY),
        "no str": Principal.model_construct(identity={"secret": CANARY}),
    }


QUESTIONS: dict[str, dict[str, Any]] = {
    **{f"principal: {name}": {"principal": principal} for name, principal in principals().items()},
    "tool: unknown": {"tool_name": CANARY, "registered": None},
    "tool: str subclass": {"tool_name": Text("refund"), "registered": None},
    "tool: object": {"tool_name": {"secret": CANARY}, "registered": None},
    "tool: oversized": {"tool_name": CANARY * 1000, "registered": None},
    "tool: surrogate": {"tool_name": "\ud800" + CANARY, "registered": None},
    "tool: another's registration": {"tool_name": CANARY},
    "registered: an object": {"registered": type("Tool", (), {"name": "refund", "handler": CANARY})()},
    "registered: str subclass": {"registered": ToolMetadata(name=Text("refund"))},
    "registered: version": {"registered": ToolMetadata(name="refund", version=Text("1"))},
    "registered: cost": {"registered": ToolMetadata(name="refund", cost=17)},
    "capability: str subclass": {"capability": Text("chat")},
    "provider: payload": {"provider": {"secret": CANARY}},
    "model: oversized": {"model": CANARY * 100},
    "run id: object": {"run_id": [CANARY]},
    "run id: oversized": {"run_id": CANARY * 30},
    "run id given: truthy": {"run_id_given": CANARY},
    "call id: str subclass": {"call_id": Text("c")},
    "request id: free text": {"request_id": CANARY},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_canary_reaches_neither_the_request_nor_opa_nor_an_event_nor_a_log(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = ScriptedEngine(lambda asked: {
        "decision": "allow", "reason": "allowed", "kind": "access",
        "requestId": asked["requestId"], "requestDigest": asked["requestDigest"],
    })  # fmt: skip
    adapter = Adapter(lambda _: result())
    bindings = IdentityBindings([IdentityBinding(identity="kim", tenant="acme", tools=frozenset({"refund"}))])
    sink = Remembering()
    caplog.set_level(logging.DEBUG)
    facts: dict[str, Any] = {"principal": Principal(identity="kim")} | QUESTIONS[name]
    for gate in (
        AccessGate(identities=bindings, adapter=OpaToolPolicy(engine), events=sink),
        AccessGate(identities=bindings, adapter=adapter),
    ):
        outcome = gate.authorize(question(**facts), Deadline.after(30))
        assert type(outcome) in {AccessGranted, AccessRefused}
    written = "".join(event.model_dump_json() for event in sink.events)
    written += "".join(request.model_dump_json() for request in adapter.requests)
    written += repr(engine.questions) + caplog.text
    assert CANARY not in written
    passes = name in {"principal: extra attributes", "principal: roles"}  # nothing of it but the identity is read
    assert (type(outcome) is AccessGranted) == passes


def test_ids_that_are_too_long_for_an_event_appear_as_their_digest() -> None:
    sink = Remembering()
    adapter = Adapter(lambda _: result())
    bindings = IdentityBindings([IdentityBinding(identity="kim", tools=frozenset({"refund"}))])
    gate = AccessGate(identities=bindings, adapter=adapter, events=sink)
    asked = question(run_id="r" * 256, call_id="c" * 200, request_id=os.urandom(16).hex())
    assert type(gate.authorize(asked, Deadline.after(30))) is AccessGranted
    execution = adapter.requests[0].execution_id
    assert execution is not None
    assert execution.startswith("sha256:")
    assert sink.events[0].execution_id == execution
