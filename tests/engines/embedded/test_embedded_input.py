"""What of an input the embedded engine must not meet: the rest passes byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.embedded_input import input_text
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.engines.rego_guard.text_limits import CHARACTERS
from tests.engines.embedded.policies import ask, body, policy

SAFE = 2**53 - 1


def refused(question: bytes, characters: Any = None) -> EngineFailureError:
    with pytest.raises(EngineFailureError) as caught:
        input_text(question, characters)
    return caught.value


@pytest.mark.parametrize(
    "question", [b'{"Input":{}}', b"{}", b"", b'[{"input":1}]', b' {"input":{}}', b'{"input":{}} ', b'{"input" :{}}']
)
def test_only_the_exact_envelope_is_taken(question: bytes) -> None:
    assert refused(question).reason is Reason.POLICY_INPUT_INVALID


def test_the_input_passes_byte_for_byte() -> None:
    assert input_text('{"input": {"é":[1.50]} }'.encode(), None) == ' {"é":[1.50]} '


def test_a_body_that_is_cut_or_not_json_is_a_deny() -> None:
    engine = EmbeddedEngine(policy("decision := 1\n"))
    for question in (b'{"input":{}', b'{"input":}', b'{"input":{},"x":1}', b'{"input":"\xff"}'):
        with pytest.raises(EngineFailureError):
            engine.evaluate(DecisionPath("fuzz/decision"), question, Deadline.after(30))


@pytest.mark.parametrize("number", [SAFE, -SAFE, 0, 1.5, 1e15, 1e-7, 123456789012345])
def test_numbers_within_the_safe_range_pass(number: float) -> None:
    text = body({"a": [number]}).decode()
    assert input_text(text.encode(), None) == text[len('{"input":') : -1]


@pytest.mark.parametrize("place", [lambda n: {"a": n}, lambda n: [1, n], lambda n: n, lambda n: {"a": [{"b": n}]}])
@pytest.mark.parametrize("number", [SAFE + 1, -SAFE - 1, 1e300, 1e21, -1e16, 9007199254740993.0])
def test_numbers_beyond_it_are_denied(number: float, place: Any) -> None:
    failure = refused(body(place(number)))
    assert failure.reason is Reason.POLICY_EVALUATION_ERROR
    assert str(number) not in failure.detail


def test_a_large_number_inside_a_string_is_text() -> None:
    assert input_text(body({"rawArguments": '{"a":1e300,"b":9999999999999999999}'}), None)


def test_an_input_that_no_engine_reads_alike_is_denied_without_its_values() -> None:
    failure = refused(b'{"input":{"a":1e5,"a":2}}')
    assert failure.reason is Reason.POLICY_EVALUATION_ERROR
    assert "duplicate" in failure.detail


@pytest.mark.parametrize("value", [{"a": "\U0001f600"}, ["x\U00010000"], {"\U0001f600": 1}, [{"b": ["\U0010ffff"]}]])
def test_characters_that_count_differently_are_denied_where_the_policy_may_count_them(value: Any) -> None:
    failure = refused(body(value), CHARACTERS["astral"])
    assert failure.reason is Reason.POLICY_EVALUATION_ERROR
    assert input_text(body(value), None)


def test_an_escaped_character_is_seen_too() -> None:
    assert refused(b'{"input":["\\ud83d\\ude00"]}', CHARACTERS["astral"]).reason is Reason.POLICY_EVALUATION_ERROR
    assert input_text(b'{"input":["\\u00e9"]}', CHARACTERS["astral"])


def test_a_policy_that_counts_only_collections_takes_every_character() -> None:
    engine = EmbeddedEngine(policy('decision := count([x | some x in input.a; x != ""])\n'))
    assert ask(engine, {"a": ["\U0001f600"]}).result == 1


def test_a_policy_that_may_count_a_text_denies_such_a_call_and_no_other() -> None:
    engine = EmbeddedEngine(policy("decision := count(input.a)\n"))
    assert ask(engine, {"a": "éé"}).result == 2
    with pytest.raises(EngineFailureError):
        ask(engine, {"a": "\U0001f600"})


def test_nesting_and_numbers_that_regorus_cannot_read_are_denies() -> None:
    engine = EmbeddedEngine(policy("decision := 1\n"), unsafe_without_load_checks=True)
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    for value in (deep, {"a": 10**400}):
        with pytest.raises(EngineFailureError) as caught:
            ask(engine, value)
        assert caught.value.reason is Reason.POLICY_EVALUATION_ERROR
    assert ask(engine).result == 1


def test_nesting_of_a_hundred_is_read() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert ask(EmbeddedEngine(policy("decision := 1\n")), deep).result == 1
