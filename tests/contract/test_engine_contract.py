"""One contract for all engines (design 4): callers cannot tell them apart by their verdicts.

Each reserved reason that a decision can end with is produced here, on every engine that can (design 9).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.guard import ToolGuard
from aioc_opa.models.outcome import Allowed, Denied, Suspended
from aioc_opa.models.run_context import RunContext
from aioc_opa.revision_gate import UnsafeAnyRevision
from tests.doubles import Meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.models.outcome import Outcome

CANARY = "canary-5up3rs3cr3t"


def guard_on(engine: Any, rule: str, **settings: Any) -> ToolGuard:
    guard = ToolGuard(engine, tool_path=DecisionPath(f"contract/{rule}"), revision_gate=UnsafeAnyRevision(), **settings)
    guard.register_json_schema("act", {"type": "object"}, lambda arguments: arguments)
    return guard


def decide(engine: Any, rule: str, raw: str = "{}", **settings: Any) -> Outcome:
    return guard_on(engine, rule, **settings).authorize("act", raw, agent_name="agent")


@pytest.mark.parametrize(("rule", "outcome"), [("allow", Allowed), ("deny", Denied), ("hold", Suspended)])
def test_the_three_effects(engine: Any, rule: str, outcome: type[Outcome]) -> None:
    decided = decide(engine, rule)
    assert type(decided) is outcome
    assert decided.engine.startswith(("opa 1.", "regorus 0."))


@pytest.mark.parametrize("rule", ["undefined_rule", "misspelt", "allow/deeper_than_it_is"])
def test_policy_undefined(engine: Any, rule: str) -> None:
    assert decide(engine, rule).code == "policy_undefined"


@pytest.mark.parametrize(
    "rule",
    [
        "just_true", "just_text", "looks_undefined", "just_null", "just_empty", "just_list", "unknown_field",
        "other_spelling", "no_echo", "reserved_reason",
    ],
)  # fmt: skip
def test_policy_malformed_decision(engine: Any, rule: str) -> None:
    assert decide(engine, rule).code == "policy_malformed_decision"


@pytest.mark.parametrize("rule", ["other_hash", "other_request", "other_kind"])
def test_policy_binding_mismatch(engine: Any, rule: str) -> None:
    assert decide(engine, rule).code == "policy_binding_mismatch"


@pytest.mark.parametrize("rule", ["builtin_error", "lenient_allow", "conflict"])
def test_policy_evaluation_error(engine: Any, rule: str) -> None:
    assert decide(engine, rule).code == "policy_evaluation_error"


def test_policy_timeout_of_a_slow_policy_is_a_deny_and_the_engine_stays_usable(engine: Any) -> None:
    many = '{"items": [' + "0," * 1999 + "1]}"
    assert decide(engine, "slow", many, deadline=0.05).code == "policy_timeout"
    assert decide(engine, "allow", deadline=30).code == "allowed"


def test_policy_timeout_when_the_deadline_has_passed_already(engine: Any) -> None:
    with pytest.raises(EngineFailureError) as caught:
        engine.evaluate(DecisionPath("contract/allow"), b'{"input":{}}', Deadline.after(-1))
    assert caught.value.reason is Reason.POLICY_TIMEOUT


def test_policy_unavailable_once_closed(engine: Any) -> None:
    assert decide(engine, "allow").code == "allowed"
    engine.close()
    assert decide(engine, "allow").code == "policy_unavailable"


def test_policy_input_invalid(engine: Any) -> None:
    outcome = guard_on(engine, "allow").authorize(
        "act", "{}", agent_name="agent", run_context=RunContext(context={"x": float("nan")})
    )
    assert outcome.code == "policy_input_invalid"


def test_tool_not_registered(engine: Any) -> None:
    outcome = guard_on(engine, "allow").authorize("other", "{}", agent_name="agent")
    assert isinstance(outcome, Denied)
    assert outcome.audit_code == "tool_not_registered"


def test_policy_mutated_arguments(engine: Any) -> None:
    guard = guard_on(Meanwhile(engine), "allow")
    prepare = guard._core.prepare

    def spy(tool: Any, raw: object) -> Any:
        prepared = prepare(tool, raw)
        guard._engine.meanwhile = lambda: prepared.parsed["a"].append(1)  # type: ignore[attr-defined] # a Meanwhile
        return prepared

    guard._core.prepare = spy  # type: ignore[method-assign] # the test reaches the judged object
    assert guard.authorize("act", '{"a": []}', agent_name="agent").code == "policy_mutated_arguments"


def test_an_undefined_rule_is_not_null_and_not_a_text(engine: Any) -> None:
    deadline = Deadline.after(20)
    body = b'{"input":{"toolName":"act"}}'
    assert engine.evaluate(DecisionPath("contract/undefined_rule"), body, deadline).result is UNDEFINED
    assert engine.evaluate(DecisionPath("contract/just_null"), body, deadline).result is None
    assert engine.evaluate(DecisionPath("contract/looks_undefined"), body, deadline).result == "<undefined>"


@pytest.mark.parametrize(
    "raw",
    [
        '{"text": "é \\ud83d\\ude00 \\u0000 \\u2028 \\" \\\\ /"}',
        '{"numbers": [0, -0, 1.0, 0.1, 1e-7, 9007199254740991, -9007199254740991, 123.456]}',
        '{"__proto__": {"a": 1}, "1": 2, "": 3}',
        '{"deep": [[[[[[[[[[1]]]]]]]]]]}',
        '{"null": null, "true": true, "false": false, "empty": [{}, [], ""]}',
    ],
)
def test_policy_sees_what_is_hashed(engine: Any, raw: str) -> None:
    outcome = decide(engine, "shows", raw)
    assert outcome.decision is not None, outcome
    assert outcome.decision.metadata is not None
    assert outcome.question is not None
    guard = guard_on(engine, "shows")
    assert guard.prepare("act", outcome.decision.metadata["parsed"]).args_canonical_json == (
        outcome.question.args_canonical_json
    )


def test_a_large_question_and_a_large_answer(engine: Any) -> None:
    outcome = decide(engine, "shows", '{"x": "' + "y" * 12_000 + '"}')
    assert outcome.code == "allowed"


def test_threads_get_their_own_answers(make_engine: Callable[[str], Any], kind_for_threads: str) -> None:
    guard = guard_on(make_engine(kind_for_threads), "shows")
    wrong: list[object] = []

    def work(n: int) -> None:
        for turn in range(20):
            outcome = guard.authorize("act", f'{{"n": {n}, "turn": {turn}}}', agent_name="agent")
            metadata = outcome.decision.metadata if outcome.decision else None
            if metadata is None or metadata["parsed"] != {"n": n, "turn": turn}:
                wrong.append(outcome)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.fixture(params=["server_tcp", "server_unix", "local", "embedded"])
def kind_for_threads(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_local_and_an_embedded_policy_have_one_revision(make_engine: Callable[[str], Any]) -> None:
    revisions = {decide(make_engine(kind), "allow").policy_revision for kind in ("local", "local_async", "embedded")}
    assert len(revisions) == 1
    revision = revisions.pop()
    assert revision is not None
    assert revision.startswith('{"local":"sha256:')


def test_a_server_without_a_bundle_names_no_revision(make_engine: Callable[[str], Any]) -> None:
    assert decide(make_engine("server_tcp"), "allow").policy_revision is None


def test_no_refusal_shows_what_the_engine_said(engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    guard = guard_on(engine, "builtin_error")
    guard.register_json_schema(CANARY, {"type": "object"}, lambda arguments: arguments)
    outcome = guard.authorize("act", f'{{"x": "{CANARY}"}}', agent_name="agent")
    assert outcome.code == "policy_evaluation_error"
    assert CANARY not in outcome.public_reason + repr(outcome) + caplog.text
