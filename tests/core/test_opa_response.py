"""OPA's responses to answers or reserved reasons: the table of `opa_response`, row by row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.opa_response import is_shifted, read_answer
from aioc_opa.core.reasons import Reason


def answer(document: Any, status: int = 200) -> EngineAnswer:
    return read_answer(status, json.dumps(document).encode())


def reason(body: bytes, status: int = 200) -> Reason:
    with pytest.raises(EngineFailureError) as caught:
        read_answer(status, body)
    return caught.value.reason


@pytest.mark.parametrize("result", [None, True, False, 0, "allow", [], {}, {"decision": "allow"}])
def test_200_with_a_result_is_that_result_whatever_it_is(result: Any) -> None:
    assert answer({"result": result}) == EngineAnswer(result, engine="opa")


@pytest.mark.parametrize("document", [{}, {"Result": 1}, {"RESULT": 1, " result": 1}, {"provenance": {}}])
def test_200_without_result_is_undefined_and_other_cases_of_the_key_do_not_count(document: Any) -> None:
    assert answer(document).result is UNDEFINED


def test_unknown_keys_beside_the_result_are_ignored() -> None:
    assert answer({"result": 1, "metrics": {}, "future": [1], "Warning": 1}).result == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"result":1,"warning":{"code":"api_usage_warning"}}',
        b'{"warning":null}',
        b'{"result":1,"result":1}',
        b'{"result":{"a":1,"a":1}}',
        b'{"result":1,"provenance":{"a":1,"a":1}}',
        b'{"result":"\\ud800"}',
        b'{"result":1e999}',
        b'{"result":1e-999}',
        b'{"result":9007199254740993}',
        b'{"result":' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"result":' + b"[" * 200_000,
        b'{"result":[' + b"0," * 100_000 + b"0]}",
        b"[]",
        b"null",
        b"true",
        b'"deny"',
    ],
)
def test_200_with_json_that_is_not_strict_or_no_object_is_malformed(body: bytes) -> None:
    assert reason(body) is Reason.POLICY_MALFORMED_DECISION


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"<html></html>",
        b'{"result":1',
        b'{"result":1}{"result":1}',
        b"{'result':1}",
        b'{"result":1,}',
        b'{"result":NaN}',
        b'\xef\xbb\xbf{"result":1}',
        b'{"result":"\xff"}',
        b'{"result":"' + b"x" * 1024 * 1024 + b'"}',
    ],
)
def test_200_without_json_or_too_large_is_unavailable(body: bytes) -> None:
    assert reason(body) is Reason.POLICY_UNAVAILABLE


def test_the_limits_are_the_callers() -> None:
    large = b'{"result":"' + b"x" * 2 * 1024 * 1024 + b'"}'
    assert read_answer(200, large, JsonLimits(max_bytes=4 * 1024 * 1024)).result


@pytest.mark.parametrize(
    "status", [100, 201, 204, 206, 301, 302, 307, 308, 400, 401, 403, 404, 429, 500, 502, 503, 504]
)
def test_any_other_status_is_unavailable_whatever_it_carries(status: int) -> None:
    for body in (b"", b'{"result":{"decision":"allow"}}', b'{"code":"internal_error","message":"x"}', b"<html>"):
        assert reason(body, status) is Reason.POLICY_UNAVAILABLE


@pytest.mark.parametrize(
    "code", ["eval_builtin_error", "eval_conflict_error", "eval_with_merge_error", "eval_type_error"]
)
def test_500_with_an_evaluation_code_is_an_evaluation_error_for_operators(code: str) -> None:
    body = json.dumps({"code": "internal_error", "errors": [{"code": code, "message": "m" * 10_000}]}).encode()
    with pytest.raises(EngineFailureError) as caught:
        read_answer(500, body)
    assert caught.value.reason is Reason.POLICY_EVALUATION_ERROR
    assert code in caught.value.detail
    assert len(caught.value.detail) <= 500
    assert reason(body, 400) is Reason.POLICY_UNAVAILABLE


@pytest.mark.parametrize(
    "errors",
    [
        [{"code": "eval_cancel_error", "message": "caller cancelled query execution"}],
        [{"code": "rego_type_error"}],
        [{"code": 1}, "x", None, {}],
        [],
        {"code": "eval_builtin_error"},
        None,
    ],
)
def test_500_without_an_evaluation_that_failed_is_unavailable(errors: Any) -> None:
    assert reason(json.dumps({"code": "internal_error", "errors": errors}).encode(), 500) is Reason.POLICY_UNAVAILABLE


def test_a_cancelled_evaluation_beside_a_failed_one_is_the_failed_one() -> None:
    errors = [{"code": "eval_cancel_error"}, {"code": "eval_conflict_error"}]
    assert reason(json.dumps({"errors": errors}).encode(), 500) is Reason.POLICY_EVALUATION_ERROR


def test_provenance_gives_the_engines_version_and_the_revision_of_every_bundle() -> None:
    provenance = {"version": "1.22.4", "bundles": {"b": {"revision": "2"}, "a": {"revision": "é"}}}
    read = answer({"result": 1, "provenance": provenance, "decision_id": "d"})
    assert read == EngineAnswer(1, policy_revision='{"a":"é","b":"2"}', decision_id="d", engine="opa 1.22.4")


@pytest.mark.parametrize(
    "bundles",
    [
        None,
        {},
        [],
        "x",
        {"a": {}},
        {"a": {"revision": ""}},
        {"a": {"revision": 1}},
        {"a": "1"},
        {"a": {"revision": "1"}, "b": {}},
        {"a": {"Revision": "1"}},
    ],
)
def test_no_revision_unless_every_bundle_names_one(bundles: Any) -> None:
    assert answer({"result": 1, "provenance": {"version": "1", "bundles": bundles}}).policy_revision is None


@pytest.mark.parametrize("provenance", [None, [], "x", {"version": 1}, {"version": ""}])
def test_provenance_of_another_shape_is_no_provenance(provenance: Any) -> None:
    assert answer({"result": 1, "provenance": provenance, "decision_id": 7}) == EngineAnswer(1, engine="opa")


def test_an_answer_with_the_echo_of_another_question_is_shifted() -> None:
    question = b'{"input":{"requestId":"r1"}}'
    assert is_shifted(EngineAnswer({"requestId": "r2"}), question)
    assert not is_shifted(EngineAnswer({"requestId": "r1"}), question)
    for unknown in ({}, {"requestId": 1}, [], None, UNDEFINED):
        assert not is_shifted(EngineAnswer(unknown), question)  # type: ignore[arg-type]


@given(st.binary(max_size=200) | st.sampled_from([b'{"result":', b"{}"]), st.integers(100, 599))
def test_whatever_comes_is_an_answer_or_the_one_failure(body: bytes, status: int) -> None:
    try:
        read = read_answer(status, body)
    except EngineFailureError:
        return
    assert status == 200
    assert isinstance(read, EngineAnswer)
