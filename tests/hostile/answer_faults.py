"""What a server can answer that is no decision, or none that may pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aioc_opa.core.reasons import Reason
from tests.hostile.registry import decision, transport

if TYPE_CHECKING:
    from tests.hostile.server import Exchange

# Not OPA's answer


@transport(Reason.POLICY_UNAVAILABLE)
def redirect_to_itself(exchange: Exchange) -> bool:
    location = b"Location: /v1/data/aioc/tool_policy/decision\r\n"
    exchange.respond(exchange.answer(), status="301 Moved Permanently", headers=location)
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def temporary_redirect(exchange: Exchange) -> bool:
    exchange.respond(b"", status="307 Temporary Redirect", headers=b"Location: http://127.0.0.1:1/\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def unauthorized_401(exchange: Exchange) -> bool:
    exchange.respond(b'{"code":"unauthorized","message":"request rejected"}', status="401 Unauthorized")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def not_found_404(exchange: Exchange) -> bool:
    exchange.respond(b"404 page not found\n", status="404 Not Found", headers=b"Content-Type: text/plain\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def too_many_requests_429(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer(), status="429 Too Many Requests", headers=b"Retry-After: 1\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def unavailable_503(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer(), status="503 Service Unavailable")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def created_201(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer(), status="201 Created")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def no_content_204(exchange: Exchange) -> bool:
    exchange.send(b"HTTP/1.1 204 No Content\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def switching_protocols_101(exchange: Exchange) -> bool:
    exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def not_http_at_all(exchange: Exchange) -> bool:
    exchange.send(b"SSH-2.0-OpenSSH_9.9\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def line_feeds_only(exchange: Exchange) -> bool:
    body = exchange.answer()
    exchange.send(b"HTTP/1.1 200 OK\nContent-Length: %d\n\n%b" % (len(body), body) + b"\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def ok_200_with_html(exchange: Exchange) -> bool:
    exchange.respond(b"<html><body>Sign in</body></html>", headers=b"Content-Type: text/html\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def ok_200_with_nothing(exchange: Exchange) -> bool:
    exchange.respond(b"")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def two_json_texts(exchange: Exchange) -> bool:
    exchange.respond(exchange.answer() * 2)
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def nan_in_the_result(exchange: Exchange) -> bool:
    exchange.respond(b'{"result": NaN}')
    return True


# OPA's own errors


def _opa_error(exchange: Exchange, code: str, status: str = "500 Internal Server Error") -> bool:
    error = {"code": code, "message": 'parsing "secret"', "location": {"file": "p.rego", "row": 1, "col": 1}}
    document = {"code": "internal_error", "message": "error(s) occurred while evaluating query", "errors": [error]}
    exchange.respond(json.dumps(document).encode(), status=status)
    return True


@transport(Reason.POLICY_EVALUATION_ERROR)
def builtin_error_500(exchange: Exchange) -> bool:
    return _opa_error(exchange, "eval_builtin_error")


@transport(Reason.POLICY_EVALUATION_ERROR)
def rule_conflict_500(exchange: Exchange) -> bool:
    return _opa_error(exchange, "eval_conflict_error")


@transport(Reason.POLICY_UNAVAILABLE)
def cancelled_500(exchange: Exchange) -> bool:
    return _opa_error(exchange, "eval_cancel_error")


@transport(Reason.POLICY_UNAVAILABLE)
def evaluation_code_with_status_400(exchange: Exchange) -> bool:
    return _opa_error(exchange, "eval_builtin_error", "400 Bad Request")


@transport(Reason.POLICY_UNAVAILABLE)
def internal_error_500_without_codes(exchange: Exchange) -> bool:
    exchange.respond(b'{"code":"internal_error","message":"boom"}', status="500 Internal Server Error")
    return True


# JSON that is not OPA's, or not strict


@transport(Reason.POLICY_MALFORMED_DECISION)
def duplicate_keys_in_the_response(exchange: Exchange) -> bool:
    deny = json.dumps(exchange.decision(decision="deny"))
    exchange.respond(b'{"result":%b,"result":%b}' % (deny.encode(), json.dumps(exchange.decision()).encode()))
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def duplicate_keys_in_the_decision(exchange: Exchange) -> bool:
    text = json.dumps(exchange.decision())
    exchange.respond(b'{"result":{"decision":"deny",%b}' % text[1:].encode() + b"}")
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def deep_nesting(exchange: Exchange) -> bool:
    exchange.respond(b'{"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def too_many_nodes(exchange: Exchange) -> bool:
    exchange.respond(b'{"result":[' + b"1," * 200_000 + b"1]}")
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def integer_beyond_binary64(exchange: Exchange) -> bool:
    exchange.respond(b'{"result":9007199254740993}')
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def a_list_for_a_response(exchange: Exchange) -> bool:
    exchange.respond(b"[" + exchange.answer() + b"]")
    return True


@transport(Reason.POLICY_MALFORMED_DECISION)
def api_usage_warning(exchange: Exchange) -> bool:
    warning = {"code": "api_usage_warning", "message": "'input' key missing from the request"}
    exchange.respond(json.dumps({"result": exchange.decision(), "warning": warning}).encode())
    return True


# Whole, well-formed responses with a decision that must not pass


def _result(exchange: Exchange, result: Any) -> bool:
    exchange.respond(json.dumps({"result": result}).encode())
    return True


@decision(Reason.POLICY_UNDEFINED)
def empty_object(exchange: Exchange) -> bool:
    exchange.respond(b"{}")
    return True


@decision(Reason.POLICY_UNDEFINED)
def result_in_another_case(exchange: Exchange) -> bool:
    exchange.respond(json.dumps({"Result": exchange.decision(), "RESULT": exchange.decision()}).encode())
    return True


@decision(Reason.POLICY_MALFORMED_DECISION)
def result_null(exchange: Exchange) -> bool:
    return _result(exchange, None)


@decision(Reason.POLICY_MALFORMED_DECISION)
def result_true(exchange: Exchange) -> bool:
    return _result(exchange, True)


@decision(Reason.POLICY_MALFORMED_DECISION)
def result_allow_object(exchange: Exchange) -> bool:
    return _result(exchange, {"allow": True})


@decision(Reason.POLICY_MALFORMED_DECISION)
def unknown_field_in_the_decision(exchange: Exchange) -> bool:
    return _result(exchange, exchange.decision(override=True))


@decision(Reason.POLICY_MALFORMED_DECISION)
def reserved_reason_in_the_decision(exchange: Exchange) -> bool:
    return _result(exchange, exchange.decision(decision="deny", reason="policy_timeout", reasons=["policy_timeout"]))


@decision(Reason.POLICY_MALFORMED_DECISION)
def missing_echo(exchange: Exchange) -> bool:
    document = exchange.decision()
    del document["proposalHash"]
    return _result(exchange, document)


@decision(Reason.POLICY_BINDING_MISMATCH)
def hash_of_another_proposal(exchange: Exchange) -> bool:
    return _result(exchange, exchange.decision(proposalHash="0" * 64))


@decision(Reason.POLICY_BINDING_MISMATCH)
def answer_to_an_earlier_question(exchange: Exchange) -> bool:
    earlier = exchange.server.questions[0]
    return _result(exchange, exchange.decision(requestId=earlier["requestId"]))
