"""The embedded engine: answers, undefined, errors, deadlines, revision."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from aioc_opa.core.engine_answer import UNDEFINED, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines import embedded
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.protocol import AsyncEngine, DecisionPath, Engine
from aioc_opa.errors import PolicyLoadError
from tests.engines.embedded.policies import ask, body, policy

DECISION = 'decision := {"code": input.code}\n'


def refusal(engine: EmbeddedEngine, value: Any = None, **options: Any) -> EngineFailureError:
    with pytest.raises(EngineFailureError) as caught:
        ask(engine, value, **options)
    return caught.value


def test_it_is_an_engine_for_threads_and_for_event_loops() -> None:
    engine = EmbeddedEngine(policy(DECISION))
    assert isinstance(engine, Engine)
    assert isinstance(engine, AsyncEngine)
    assert engine.name == "embedded"


def test_an_answer_has_the_value_the_revision_and_the_version() -> None:
    answer = ask(EmbeddedEngine(policy(DECISION, revision="sha256:abc")), {"code": "é"})
    assert answer.result == {"code": "é"}
    assert answer.policy_revision == '{"local":"sha256:abc"}'
    assert answer.engine == "regorus 0.13.0"
    assert answer.decision_id is None


async def test_async_answers_are_the_same_and_come_from_the_loop_itself() -> None:
    engine = EmbeddedEngine(policy(DECISION))
    question = (DecisionPath("fuzz/decision"), body({"code": "a"}), Deadline.after(30))
    assert await engine.evaluate_async(*question) == engine.evaluate(*question)
    await engine.aclose()
    with pytest.raises(EngineFailureError):
        await engine.evaluate_async(*question)


@pytest.mark.parametrize("rule", ["decision", "no_such_rule"])
def test_an_undefined_rule_and_an_unknown_one_are_undefined(rule: str) -> None:
    assert ask(EmbeddedEngine(policy(DECISION)), rule=rule).result is UNDEFINED


def test_a_package_that_does_not_exist_is_undefined() -> None:
    engine = EmbeddedEngine(policy(DECISION))
    answer = engine.evaluate(DecisionPath("no/such/rule"), body({}), Deadline.after(30))
    assert answer.result is UNDEFINED


def test_the_string_that_regorus_writes_for_undefined_stays_a_string_where_the_policy_says_it() -> None:
    engine = EmbeddedEngine(policy('decision := "<undefined>"\n'))
    assert ask(engine).result == "<undefined>"


def test_an_undefined_that_depends_on_the_input_is_told_from_the_string() -> None:
    engine = EmbeddedEngine(policy("decision := input.code\n"))
    assert ask(engine, {"code": "<undefined>"}).result == "<undefined>"
    assert ask(engine, {}).result is UNDEFINED


def test_null_and_false_are_values() -> None:
    engine = EmbeddedEngine(policy("decision := input.code\n"))
    assert ask(engine, {"code": None}).result is None
    assert ask(engine, {"code": False}).result is False


def test_builtin_errors_are_strict() -> None:
    engine = EmbeddedEngine(policy('decision := "open" if not closed\n\nclosed if startswith(input.code, "a")\n'))
    failure = refusal(engine, {"code": 1})
    assert failure.reason is Reason.POLICY_EVALUATION_ERROR
    assert "startswith" in failure.detail
    assert "backtrace" not in failure.detail


def test_two_values_of_one_rule_are_an_evaluation_error() -> None:
    engine = EmbeddedEngine(policy("decision := 1 if input.a\n\ndecision := 2 if input.b\n"))
    assert refusal(engine, {"a": True, "b": True}).reason is Reason.POLICY_EVALUATION_ERROR
    assert ask(engine, {"a": True}).result == 1


def test_an_answer_that_is_not_strict_json_is_malformed() -> None:
    engine = EmbeddedEngine(policy("decision := input.a * input.b\n"))
    failure = refusal(engine, {"a": 2**52, "b": 3})
    assert failure.reason is Reason.POLICY_MALFORMED_DECISION


def test_a_deadline_that_has_passed_asks_nothing() -> None:
    failure = refusal(EmbeddedEngine(policy(DECISION)), {"code": "a"}, seconds=-1)
    assert failure.reason is Reason.POLICY_TIMEOUT


def test_a_verdict_that_comes_late_is_a_timeout() -> None:
    class Late(Deadline):
        looks = 0

        def passed(self) -> bool:
            Late.looks += 1
            return Late.looks > 1

    engine = EmbeddedEngine(policy(DECISION))
    with pytest.raises(EngineFailureError) as caught:
        engine.evaluate(DecisionPath("fuzz/decision"), body({"code": "a"}), Late(0.0))
    assert caught.value.reason is Reason.POLICY_TIMEOUT


def test_a_closed_engine_denies() -> None:
    engine = EmbeddedEngine(policy(DECISION))
    engine.close()
    assert refusal(engine, {"code": "a"}).reason is Reason.POLICY_UNAVAILABLE


def test_http_send_gives_undefined_in_regorus_and_is_refused_at_load() -> None:
    module = 'decision := http.send({"url": "http://127.0.0.1:1", "method": "get"})\n'
    assert ask(EmbeddedEngine(policy(module), unsafe_without_load_checks=True)).result is UNDEFINED
    with pytest.raises(PolicyLoadError, match=r"m0\.rego:5:22: builtin http\.send is not on the allow-list"):
        EmbeddedEngine(policy(module))


def test_switching_the_load_checks_off_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        EmbeddedEngine(policy("decision := rand.intn(input.x, 2)\n"), unsafe_without_load_checks=True)
    assert "without its load checks" in caplog.text


def test_a_module_that_does_not_parse_names_its_file_and_line() -> None:
    with pytest.raises(PolicyLoadError, match=r"(?s)m0\.rego: the embedded engine cannot read.*m0\.rego:6"):
        EmbeddedEngine(policy("decision := {\n"))


def test_data_that_the_engine_cannot_take_is_refused() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(PolicyLoadError, match="cannot take the data"):
        EmbeddedEngine(policy(DECISION, data={"deep": deep}))


@pytest.mark.parametrize("kind", [Path, str])
def test_a_policy_may_be_the_path_of_a_folder(repository: Path, kind: type[Path | str]) -> None:
    engine = EmbeddedEngine(kind(repository / "rego"))
    assert engine.evaluate(DecisionPath("aioc/nothing/decision"), body({}), Deadline.after(30)).result is UNDEFINED


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_cancellation_exit_and_the_keyboard_pass(monkeypatch: pytest.MonkeyPatch, passing: type[BaseException]) -> None:
    engine = EmbeddedEngine(policy(DECISION))

    def interrupted(*_: object) -> None:
        raise passing

    monkeypatch.setattr(embedded._ThreadEngines, "of", interrupted)
    with pytest.raises(passing):
        ask(engine, {"code": "a"})


@pytest.mark.parametrize("failure", [MemoryError("x"), RecursionError("x"), BaseException("x"), ValueError("x")])
def test_whatever_else_comes_out_is_a_deny_and_costs_the_thread_its_engine(
    failure: BaseException,
) -> None:
    engine = EmbeddedEngine(policy(DECISION))

    class Broken:
        def set_input_json(self, _: str) -> None:
            raise failure

    embedded._threads.by_owner[engine._owner] = Broken()
    caught = refusal(engine, {"code": "a"})
    assert caught.reason is Reason.POLICY_EVALUATION_ERROR
    assert type(failure).__name__ in caught.detail
    assert ask(engine, {"code": "a"}).result == {"code": "a"}
