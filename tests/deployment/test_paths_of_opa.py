"""rego/system on a real OPA: only the decision paths, health, status and metrics are answered, compared exactly.

What OPA or Go's router does with an odd path is seen from outside: a trick must get nothing but a refusal (401, 405), or
a redirect without a body, which leads to a path that is judged anew.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.deployment.closed_opa import ClosedOpa

STRICT = "?strict-builtin-errors=true"
DECISION = "/v1/data/aioc/tool_policy/decision"
QUESTION = json.dumps({"input": {"kind": "tool", "requestId": "r", "toolName": "x"}}).encode()
METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"]
TRICKS = [
    "{}/", "/{}", "{}//", "/.{}", "/./{}", "{}/.", "{}/..", "/x/..{}", "/x/%2e%2e{}", "/%2e{}", "{}/%2e", "{}%2f", "{}%00",
    "{};x", "{}.json", "{}%20", "{}/x", "{}%3fx", "http://localhost{}/",
]  # fmt: skip
NOT_ANSWERED = [
    "/", "*", "/v0/data/aioc/tool_policy/decision", "/v0/data", "/V1/data/aioc/tool_policy/decision", "/v1", "/v1/data",
    "/v1/data/aioc", "/v1/data/aioc/tool_policy", "/v1/data/aioc/tool_policy%2Fdecision", "/v1/data/aioc.tool_policy.decision",
    "/v1/data/aioc//tool_policy/decision", "/v1/data/aioc/tool_policy/decision/reason", "/v1/data/aioc/packs",
    "/v1/data/system/authz/allow", "/v1/data/system/callers/tokens", "/v1/data/system/log", "/v1/batch/data", "/v1/query",
    "/v1/compile", "/v1/compile/aioc/tool_policy/decision", "/exp/compile/filters", "/v1/config", "/v1/policies",
    "/v1/policies/system/authz/authz.rego", "/v1/status/x", "/health/live", "/health/ready", "/HEALTH", "/metrics/x",
    "/metrics/alloc_bytes", "/debug/pprof", "/debug/pprof/heap", "/debug/pprof/cmdline",
]  # fmt: skip
REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.METHOD_NOT_ALLOWED}


def get_nothing(answer: tuple[int, str]) -> bool:
    """Whether it is a refusal, or a redirect that shows nothing."""
    status, text = answer
    if status in {301, 307, 308}:
        return not text or text.startswith("<a href=")
    return (status in REFUSED and "result" not in text) or (status == 400 and text == "400 Bad Request")


@pytest.mark.parametrize("who", ["operator", None])
def test_a_decision_is_answered_to_post_alone_and_the_rest_to_get_alone(closed: ClosedOpa, who: str | None) -> None:
    if who is None and closed.mutual:
        who = "stranger"
    answered = {
        (method, path)
        for method in METHODS
        for path in (DECISION + STRICT, "/health", "/v1/status", "/metrics")
        if not get_nothing(closed.send(who, method, path, None if method == "GET" else QUESTION))
    }
    expected = {("POST", DECISION + STRICT), ("GET", "/health"), ("GET", "/v1/status"), ("GET", "/metrics")}
    assert answered == (expected if who == "operator" else {("GET", "/health")})


def test_no_trick_with_a_path_gets_an_answer(closed: ClosedOpa) -> None:
    for path in (DECISION, "/health", "/v1/status", "/metrics", "/v1/policies", "/v1/config", "/v1/data", "/v1/query"):
        for trick in TRICKS:
            for method in ("GET", "POST"):
                target = trick.format(path) + (STRICT if path == DECISION else "")
                assert get_nothing(closed.send("operator", method, target, None)), (method, target)


def test_a_redirect_leads_to_nothing_that_was_refused(closed: ClosedOpa) -> None:
    for path in ("/v1/data", "/v1/policies", "/v1/config", "/v1/query", "/v1/compile", "/debug/pprof"):
        assert closed.send("operator", "GET", path + "/", None)[0] in {301, 401}
        assert closed.send("operator", "GET", path, None)[0] == HTTPStatus.UNAUTHORIZED
    assert closed.send("operator", "POST", DECISION, QUESTION)[0] == HTTPStatus.UNAUTHORIZED  # the strict flag is lost


def test_nothing_else_is_answered_whatever_the_method(closed: ClosedOpa) -> None:
    for path in NOT_ANSWERED:
        for method, target in (("GET", path), ("POST", path + STRICT), ("PUT", path), ("DELETE", path)):
            answer = closed.send("operator", method, target, None)
            assert get_nothing(answer), (method, target, answer)
    assert closed.send("operator", "OPTIONS", "*", None) == (200, "")  # Go's own empty answer


def test_an_encoded_letter_is_that_letter_and_no_way_round(closed: ClosedOpa) -> None:
    asked = [closed.send("operator", "POST", path + STRICT, QUESTION) for path in (DECISION, DECISION[:-1] + "%6e")]
    assert [json.loads(text)["result"]["reason"] for _, text in asked] == ["no_rule_allows"] * 2
    assert closed.send("stranger", "GET", "/v1/%73tatus", None)[0] == HTTPStatus.UNAUTHORIZED
    assert closed.send("guard", "GET", "/%6detrics", None)[0] == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "parameter",
    ["pretty", "metrics", "explain=full", "explain=notes", "instrument", "input=1", "watch", "partial", "x"],
)
def test_no_parameter_but_those_that_a_guard_sends(closed: ClosedOpa, parameter: str) -> None:
    assert closed.send("operator", "POST", DECISION + STRICT, QUESTION)[0] == HTTPStatus.OK
    assert closed.send("operator", "POST", f"{DECISION}{STRICT}&provenance", QUESTION)[0] == HTTPStatus.OK
    for target in (DECISION + STRICT + "&" + parameter, DECISION + "?" + parameter):
        assert closed.send("operator", "POST", target, QUESTION)[0] == HTTPStatus.UNAUTHORIZED
    for path in ("/health", "/v1/status", "/metrics"):
        assert closed.send("operator", "GET", f"{path}?{parameter}", None)[0] == HTTPStatus.UNAUTHORIZED


def test_the_strict_flag_cannot_be_taken_back(closed: ClosedOpa) -> None:
    for query in (
        "",
        "?strict-builtin-errors=false",
        f"{STRICT}&strict-builtin-errors=false",
        "?Strict-Builtin-Errors",
    ):
        assert closed.send("operator", "POST", DECISION + query, QUESTION)[0] == HTTPStatus.UNAUTHORIZED


def test_the_health_of_bundles_and_plugins_is_everybodys(closed: ClosedOpa) -> None:
    who = "stranger" if closed.mutual else None
    for query in ("", "?bundles", "?plugins", "?bundles&plugins&exclude-plugin=status"):
        assert closed.send(who, "GET", "/health" + query, None) == (200, "{}\n")
