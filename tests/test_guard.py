"""The guard's own promises, with engines that do what a real one will not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aioc_opa.core.limits import JsonLimits
from aioc_opa.errors import (
    ToolArgumentsValidationError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Denied
from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.tool_policy_input import ToolPolicyInput
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine
from tests.guarded_shop import CANARY, ORDER, Shop


def test_an_allowed_call_runs_with_the_very_object_that_was_judged() -> None:
    shop = Shop(ScriptedEngine())
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent")
    assert isinstance(outcome, Allowed)
    judged = next(iter(shop.guard._core.permits._open.values())).parsed
    assert shop.guard.execute(outcome.permit) == "done"
    assert shop.ran[0] is judged


def test_the_question_is_the_public_contract() -> None:
    shop = Shop(ScriptedEngine())
    shop.guard.call(
        "order",
        ORDER,
        agent_name="agent",
        run_context=RunContext(run_id="r", context={"plan": [1, None, "x"]}),
        turn=4,
        call_id="c",
        principal=Principal(identity="ann", tenant="t", roles=("clerk",), on_behalf_of=("bob",)),
    )
    question = shop.engine.questions[0]
    parsed = ToolPolicyInput.model_validate_json(json.dumps(question))
    assert json.loads(parsed.model_dump_json(by_alias=True, exclude_none=True)) == question
    assert question["parsedArguments"] == {"items": [{"sku": "a", "count": 1}], "notes": {}}
    assert question["requestedArguments"] == {"items": [{"sku": "a"}]}
    assert (question["rawArguments"], question["toolVersion"], question["decodeAssurance"]) == (ORDER, "3", "raw")
    assert shop.engine.paths == ["aioc/tool_policy/decision"]


def test_request_ids_are_random_and_ids_are_made_where_none_is_given() -> None:
    shop = Shop(ScriptedEngine())
    for _ in range(20):
        shop.guard.authorize("order", ORDER, agent_name="agent")
    for key in ("requestId", "callId"):
        assert len({question[key] for question in shop.engine.questions}) == 20
    assert len({question["runContext"]["runId"] for question in shop.engine.questions}) == 20


def test_an_object_from_a_framework_takes_the_same_way_and_says_so() -> None:
    shop = Shop(ScriptedEngine())
    shop.guard.call("order", {"items": [{"sku": "ä", "count": 2}]}, agent_name="agent")
    question = shop.engine.questions[0]
    assert question["rawArguments"] == '{"items":[{"count":2,"sku":"ä"}]}'
    assert question["decodeAssurance"] == "decoded"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "arguments",
    [None, b"{}", 1, [], (), Text("{}"), {"items": {1, 2}}, {"x": float("nan")}, {1: 2}, {"x": 2**60}, {"x": "\ud800"}],
)
def test_arguments_that_are_no_text_and_no_plain_object_are_refused(arguments: Any) -> None:
    shop = Shop(ScriptedEngine())
    with pytest.raises(ToolArgumentsValidationError) as caught:
        shop.guard.call("order", arguments, agent_name="agent")
    assert caught.value.stage == "json"
    assert shop.engine.questions == []
    assert shop.ran == []


def test_an_unknown_tool_looks_like_a_forbidden_one_and_operators_can_tell() -> None:
    shop = Shop(ScriptedEngine())
    outcome = shop.guard.authorize("Order", "not even json", agent_name="agent")
    assert isinstance(outcome, Denied)
    assert (outcome.code, outcome.audit_code, outcome.stage) == ("tool_not_authorized", "tool_not_registered", "access")
    assert shop.engine.questions == []
    for name in (None, 1, "order\x00", Text("order")):
        bad: Any = name
        assert isinstance(shop.guard.authorize(bad, ORDER, agent_name="agent"), Denied)


class Undumpable(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    "options",
    [
        {"agent_name": ""}, {"agent_name": "x" * 257}, {"agent_name": None}, {"agent_name": "\ud800"}, {"call_id": ""},
        {"call_id": 7}, {"turn": -1}, {"turn": True}, {"turn": 1.0}, {"run_context": {"context": {}}},
        {"run_context": RunContext(context={"x": object()})}, {"run_context": RunContext(context={"x": float("inf")})},
        {"run_context": RunContext(context={"x": 2**53})}, {"run_context": RunContext(context={"x": {1, 2}})},
        {"run_context": RunContext.model_construct(run_id=None, context=Undumpable())},
        {"run_context": RunContext.model_construct(run_id=1, context={})},
        {"principal": {"identity": "x"}}, {"principal": Principal.model_construct(identity="\ud800", roles=(), tenant=None, on_behalf_of=None)},
    ],
    ids=lambda options: repr(options)[:50],
)  # fmt: skip
def test_surroundings_without_canonical_form_deny_with_policy_input_invalid(options: dict[str, Any]) -> None:
    shop = Shop(ScriptedEngine())
    outcome = shop.guard.authorize("order", ORDER, **{"agent_name": "agent", **options})
    assert isinstance(outcome, Denied)
    assert outcome.code == "policy_input_invalid"
    assert shop.engine.questions == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"run_context": {"verified": True}}, "run_context must be a RunContext, not dict"),
        ({"principal": {"identity": CANARY}}, "principal must be a Principal, not dict"),
        ({"agent_name": ""}, "agent_name must be a str"),
        ({"run_context": RunContext(context={"now": {CANARY}})}, "run_context.context['now']"),
    ],
)
def test_the_log_says_what_was_wrong_with_the_surroundings_and_no_value(
    options: dict[str, Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(ScriptedEngine())
    shop.guard.authorize("order", ORDER, **{"agent_name": "agent", **options})
    assert words in caplog.text
    assert CANARY not in caplog.text


def test_a_missing_or_unknown_option_is_a_type_error_that_names_it() -> None:
    shop = Shop(ScriptedEngine())
    call: Any = shop.guard.call
    handoff: Any = shop.guard.handoff
    with pytest.raises(TypeError, match="agent_name is required"):
        call("order", ORDER)
    with pytest.raises(TypeError, match="unknown option 'agent'"):
        call("order", ORDER, agent_name="agent", agent="x")
    with pytest.raises(TypeError, match="from_agent_name is required"):
        handoff("billing", "{}")
    with pytest.raises(TypeError, match="unknown option 'call_id'"):
        handoff("billing", "{}", from_agent_name="a", call_id="x")


def test_the_log_has_the_digest_of_an_unknown_name_and_what_is_registered(caplog: pytest.LogCaptureFixture) -> None:
    Shop(ScriptedEngine()).guard.authorize(CANARY, "{}", agent_name="agent")
    assert "registered: order" in caplog.text
    assert CANARY not in caplog.text


def test_a_question_over_its_cap_is_denied() -> None:
    shop = Shop(ScriptedEngine(), max_body_bytes=600)
    assert isinstance(shop.guard.authorize("order", ORDER, agent_name="agent"), Allowed | Denied)
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent", run_context=RunContext(context={"x": "y" * 600}))
    assert outcome.code == "policy_input_invalid"


def test_the_limits_of_the_decode_are_settings() -> None:
    shop = Shop(ScriptedEngine(), json_limits=JsonLimits(max_depth=2))
    with pytest.raises(ToolArgumentsValidationError, match="json"):
        shop.guard.call("order", ORDER, agent_name="agent")


def test_empty_arguments_are_an_object_only_by_option() -> None:
    def build(**settings: Any) -> ToolGuard:
        guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), **settings)
        guard.register_json_schema("ping", {"type": "object"}, lambda arguments: arguments)
        return guard

    for blank in ("", "  \n"):
        with pytest.raises(ToolArgumentsValidationError, match="empty_arguments"):
            build().call("ping", blank, agent_name="agent")
        assert build(empty_arguments="object").call("ping", blank, agent_name="agent") == {}
        with pytest.raises(ToolArgumentsValidationError):
            build(empty_arguments="object").call("ping", "null", agent_name="agent")
