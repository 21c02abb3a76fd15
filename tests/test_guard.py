"""The guard's own promises, with engines that do what a real one will not."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.reasons import Reason
from aioc_opa.delivery import deliver
from aioc_opa.errors import (
    AiocOpaError,
    HandoffApprovalRequiredError,
    HandoffPolicyDeniedError,
    ToolArgumentsValidationError,
    ToolCallApprovalRequiredError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
)
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied, HandoffSuspended, Suspended
from aioc_opa.models.principal import Principal
from aioc_opa.models.refusal_result import RefusalResult
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.tool_policy_input import ToolPolicyInput
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import ScriptedEngine, allowing, denying, echoes, holding

CANARY = "canary-5up3rs3cr3t"


class Item(BaseModel):
    sku: str
    count: int = 1


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Item]
    notes: dict[str, str] = Field(default_factory=dict)


class Shop:
    def __init__(self, engine: Any, **settings: Any) -> None:
        self.ran: list[Order] = []
        self.engine = engine
        self.guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision(), **settings)
        self.guard.register_model("order", Order, self._order, version="3")

    def _order(self, order: Order) -> str:
        self.ran.append(order)
        return "done"


ORDER = '{"items": [{"sku": "a"}]}'


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


def test_a_denial_is_delivered_raised_or_as_a_value_and_policy_can_say_which() -> None:
    shop = Shop(ScriptedEngine(lambda q: {**denying(q), "publicReason": "Not today."}))
    with pytest.raises(ToolCallPolicyDeniedError) as caught:
        shop.guard.call("order", ORDER, agent_name="agent")
    assert (caught.value.code, caught.value.public_reason) == ("because", "Not today.")
    valued = Shop(ScriptedEngine(lambda q: {**denying(q), "resultMode": "tool_result"}))
    assert valued.guard.call("order", ORDER, agent_name="agent") == RefusalResult(
        status="denied", code="because", public_reason="This call is not allowed by policy."
    )
    forced = Shop(ScriptedEngine(lambda q: {**denying(q), "resultMode": "throw"}), result_mode="tool_result")
    with pytest.raises(ToolCallPolicyDeniedError):
        forced.guard.call("order", ORDER, agent_name="agent")


def test_a_held_call_is_suspended_with_both_views_and_a_way_to_find_it() -> None:
    shop = Shop(
        ScriptedEngine(lambda q: {**holding(q), "expiresAt": "2999-01-01T00:00:00Z"}), result_mode="tool_result"
    )
    outcome = shop.guard.authorize("order", ORDER, agent_name="agent", call_id="c1")
    assert isinstance(outcome, Suspended)
    assert outcome.proposal.requested_arguments == {"items": [{"sku": "a"}]}
    assert outcome.proposal.parsed_arguments == {"items": [{"sku": "a", "count": 1}], "notes": {}}
    value = shop.guard.call("order", ORDER, agent_name="agent", call_id="c1")
    assert value.status == "approval_required"
    assert value.data["callId"] == "c1"
    assert value.data["expiresAt"] == "2999-01-01T00:00:00Z"
    raising = Shop(ScriptedEngine(holding))
    with pytest.raises(ToolCallApprovalRequiredError) as caught:
        raising.guard.call("order", ORDER, agent_name="agent")
    assert caught.value.suspended.proposal.tool_name == "order"
    assert shop.ran == raising.ran == []


def test_validation_errors_always_raise_whatever_the_delivery() -> None:
    shop = Shop(ScriptedEngine(), result_mode="tool_result")
    with pytest.raises(ToolArgumentsValidationError):
        shop.guard.call("order", "{", agent_name="agent")


def test_what_the_handler_raises_passes_unchanged() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision())
    mine = ValueError("mine")

    @guard.tool()
    def fails() -> None:
        raise mine

    with pytest.raises(ValueError, match="mine") as caught:
        guard.call("fails", "{}", agent_name="agent")
    assert caught.value is mine


def test_an_error_of_our_tree_out_of_a_handler_leaves_the_tree() -> None:
    inner = Shop(ScriptedEngine(denying))
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")

    @guard.tool()
    def outer() -> None:
        inner.guard.call("order", ORDER, agent_name="agent")

    with pytest.raises(ToolExecutionError) as caught:
        guard.call("outer", "{}", agent_name="agent")
    assert not isinstance(caught.value, AiocOpaError)
    assert isinstance(caught.value.__cause__, ToolCallPolicyDeniedError)


def test_a_provider_that_fails_denies_and_the_handler_is_not_entered() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")
    ran = []

    @guard.tool(inject={"db": lambda call: 1 / 0})
    def query(text: str, db: object) -> None:
        ran.append(text)

    assert guard.call("query", '{"text": "x"}', agent_name="agent").code == "permit_invalid"
    assert ran == []


def test_a_provider_that_changes_the_arguments_is_found_out() -> None:
    guard = ToolGuard(ScriptedEngine(), revision_gate=UnsafeAnyRevision(), result_mode="tool_result")
    judged: list[Any] = []
    ran = []

    @guard.tool(inject={"hook": lambda call: judged[0].items.append(Item(sku="more"))})
    def use(order: Order, hook: object) -> None:
        ran.append(order)

    outcome = guard.authorize("use", f'{{"order": {ORDER}}}', agent_name="agent")
    assert isinstance(outcome, Allowed)
    state = next(iter(guard._core.permits._open.values()))
    args, kwargs = state.tool.schema.bind(state.parsed)
    judged.extend([*args, *kwargs.values()])
    assert guard.execute(outcome.permit).code == "policy_mutated_arguments"
    assert ran == []


def test_no_internal_error_lets_a_call_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(ScriptedEngine())
    monkeypatch.setattr("aioc_opa.guard_core.judge", lambda *a, **k: 1 / 0)
    monkeypatch.setattr("aioc_opa.handoff_core.judge", lambda *a, **k: 1 / 0)
    assert shop.guard.authorize("order", ORDER, agent_name="agent").code == "policy_unavailable"
    assert shop.guard.authorize_handoff("x", "{}", from_agent_name="agent").code == "policy_unavailable"


def test_handoffs_share_strict_json_and_have_their_own_path_and_hash() -> None:
    engine = ScriptedEngine()
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    outcome = guard.authorize_handoff(
        "billing", '{"why": "refund"}', from_agent_name="front", principal=Principal(identity="ann")
    )
    assert isinstance(outcome, HandoffAllowed)
    assert outcome.payload == {"why": "refund"}
    assert engine.paths == ["aioc/handoff_policy/decision"]
    assert engine.questions[0]["toAgentName"] == "billing"
    assert engine.questions[0]["kind"] == "handoff"
    for bad in ("{", '{"a":1,"a":2}', "[]", "", "null", None):
        broken: Any = bad
        with pytest.raises(ToolArgumentsValidationError) as caught:
            guard.authorize_handoff("billing", broken, from_agent_name="front")
        assert caught.value.stage == "json"
    assert len(engine.questions) == 1


def test_handoffs_are_denied_held_and_fail_closed() -> None:
    def build(answer: Any, **settings: Any) -> ToolGuard:
        return ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision(), **settings)

    denied = build(denying).authorize_handoff("billing", "{}", from_agent_name="front")
    assert isinstance(denied, HandoffDenied)
    with pytest.raises(HandoffPolicyDeniedError):
        deliver(denied, "throw")
    assert deliver(denied, "tool_result").status == "denied"
    held = build(holding).authorize_handoff("billing", '{"a": [1]}', from_agent_name="front")
    assert isinstance(held, HandoffSuspended)
    assert held.proposal.handoff_payload == {"a": [1]}
    with pytest.raises(HandoffApprovalRequiredError):
        deliver(held, "throw")
    assert deliver(held, "tool_result").status == "approval_required"
    assert build(lambda q: UNDEFINED).authorize_handoff("b", "{}", from_agent_name="f").code == "policy_undefined"
    assert build(lambda q: OSError()).authorize_handoff("b", "{}", from_agent_name="f").code == "policy_unavailable"
    assert build(allowing).authorize_handoff("", "{}", from_agent_name="f").code == "policy_input_invalid"
    assert (
        build(allowing, max_body_bytes=10).authorize_handoff("b", "{}", from_agent_name="f").code
        == "policy_input_invalid"
    )


def test_handoffs_are_delivered_like_calls() -> None:
    def build(answer: Any, **settings: Any) -> ToolGuard:
        return ToolGuard(ScriptedEngine(answer), revision_gate=UnsafeAnyRevision(), **settings)

    assert build(allowing).handoff("b", '{"a": 1}', from_agent_name="f") == {"a": 1}
    with pytest.raises(HandoffPolicyDeniedError):
        build(denying).handoff("b", "{}", from_agent_name="f")
    with pytest.raises(HandoffApprovalRequiredError):
        build(holding).handoff("b", "{}", from_agent_name="f")
    value = build(denying, result_mode="tool_result").handoff("b", "{}", from_agent_name="f")
    assert isinstance(value, RefusalResult)


def test_a_handoff_payload_that_changes_meanwhile_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    guard = ToolGuard(engine, revision_gate=UnsafeAnyRevision())
    prepared: list[Any] = []
    import aioc_opa.handoff_core as module

    prepare = module.prepare_handoff

    def spy(*args: Any, **kwargs: Any) -> Any:
        prepared.append(prepare(*args, **kwargs))
        return prepared[-1]

    monkeypatch.setattr(module, "prepare_handoff", spy)
    engine.meanwhile = lambda: prepared[-1].payload.update(more=1)
    assert guard.authorize_handoff("b", "{}", from_agent_name="f").code == "policy_mutated_arguments"


def test_echoes_are_what_the_question_has() -> None:
    shop = Shop(ScriptedEngine())
    shop.guard.authorize("order", ORDER, agent_name="agent")
    assert echoes(shop.engine.questions[0])["kind"] == "tool"
