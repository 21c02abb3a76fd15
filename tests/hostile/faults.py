"""Everything a server can do wrong with one question, by name, and the reason that the call is denied with.

`TRANSPORT` faults are seen by the engine; `DECISION` faults are whole responses that only the decoder can refuse.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from aioc_opa.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.server import Exchange

    Fault = Callable[[Exchange], bool | None]

TRANSPORT: dict[str, tuple[Fault, Reason]] = {}
DECISION: dict[str, tuple[Fault, Reason]] = {}
TIMEOUTS: set[str] = set()
"""Faults that only the deadline ends."""

_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def transport(reason: Reason) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        TRANSPORT[fault.__name__] = (fault, reason)
        if reason is Reason.POLICY_TIMEOUT:
            TIMEOUTS.add(fault.__name__)
        return fault

    return register


def decision(reason: Reason) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        DECISION[fault.__name__] = (fault, reason)
        return fault

    return register


def _chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


# Time


@transport(Reason.POLICY_TIMEOUT)
def accept_and_hang(exchange: Exchange) -> None:
    exchange.wait()


@transport(Reason.POLICY_TIMEOUT)
def hang_in_the_middle_of_the_head(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-")
    exchange.wait()


@transport(Reason.POLICY_TIMEOUT)
def hang_in_the_middle_of_the_body(exchange: Exchange) -> None:
    exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"result"')
    exchange.wait()


@transport(Reason.POLICY_TIMEOUT)
def drip_the_head_a_byte_at_a_time(exchange: Exchange) -> None:
    _drip(exchange, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


@transport(Reason.POLICY_TIMEOUT)
def drip_the_body_a_byte_at_a_time(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    _drip(exchange, b" " * 1000)


def _drip(exchange: Exchange, data: bytes) -> None:
    for index in range(len(data)):
        exchange.send(data[index : index + 1])
        if exchange.wait(0.05):
            return


# Ends


@transport(Reason.POLICY_UNAVAILABLE)
def close_without_a_byte(exchange: Exchange) -> None:
    """Close."""


@transport(Reason.POLICY_UNAVAILABLE)
def cut_in_the_head(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Le")


@transport(Reason.POLICY_UNAVAILABLE)
def cut_in_the_body(exchange: Exchange) -> None:
    body = exchange.answer()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body[: len(body) // 2]))


@transport(Reason.POLICY_UNAVAILABLE)
def cut_in_a_chunk(exchange: Exchange) -> None:
    exchange.send(_CHUNKED + b"50\r\n{")


@transport(Reason.POLICY_UNAVAILABLE)
def cut_before_the_last_chunk(exchange: Exchange) -> None:
    exchange.send(_CHUNKED + _chunk(exchange.answer()))


@transport(Reason.POLICY_UNAVAILABLE)
def body_that_only_the_end_of_the_connection_ends(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + exchange.answer())


@transport(Reason.POLICY_UNAVAILABLE)
def bytes_after_the_end(exchange: Exchange) -> bool:
    body = exchange.answer()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b\r\n" % (len(body), body))
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def bytes_after_the_last_chunk(exchange: Exchange) -> bool:
    exchange.send(_CHUNKED + _chunk(exchange.answer()) + b"0\r\n\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def second_response_in_the_same_segment(exchange: Exchange) -> bool:
    body = exchange.answer()
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    exchange.send(whole + whole)
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def second_chunked_response_in_the_same_segment(exchange: Exchange) -> bool:
    whole = _CHUNKED + _chunk(exchange.answer()) + b"0\r\n\r\n"
    exchange.send(whole + whole)
    return True


# Framing


@transport(Reason.POLICY_UNAVAILABLE)
def length_shorter_than_the_body(exchange: Exchange) -> bool:
    body = exchange.answer()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body) - 1, body))
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def length_longer_than_the_body(exchange: Exchange) -> None:
    body = exchange.answer()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body) + 1, body))


@transport(Reason.POLICY_UNAVAILABLE)
def length_that_is_no_number(exchange: Exchange) -> bool:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n" + exchange.answer())
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def two_lengths(exchange: Exchange) -> bool:
    body = exchange.answer()
    length = b"Content-Length: %d\r\n" % len(body)
    exchange.send(b"HTTP/1.1 200 OK\r\n" + length + length + b"\r\n" + body)
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def length_and_chunks_together(exchange: Exchange) -> bool:
    body = _chunk(exchange.answer()) + b"0\r\n\r\n"
    exchange.send(_CHUNKED[:-2] + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def bad_chunks(exchange: Exchange) -> bool:
    exchange.send(_CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def chunk_that_is_longer_than_it_says(exchange: Exchange) -> bool:
    exchange.send(_CHUNKED + b"1\r\n{}\r\n0\r\n\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def endless_chunk_extension(exchange: Exchange) -> None:
    exchange.send(_CHUNKED + b"1;")
    _flood(exchange, b"x" * 1000)


@transport(Reason.POLICY_UNAVAILABLE)
def endless_one_byte_chunks(exchange: Exchange) -> None:
    exchange.send(_CHUNKED)
    _flood(exchange, b"1\r\n \r\n" * 100)


@transport(Reason.POLICY_UNAVAILABLE)
def endless_trailers(exchange: Exchange) -> None:
    exchange.send(_CHUNKED + _chunk(exchange.answer()) + b"0\r\n")
    _flood(exchange, b"X-Trailer: x\r\n")


@transport(Reason.POLICY_UNAVAILABLE)
def other_transfer_coding(exchange: Exchange) -> bool:
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + _chunk(b"{}") + b"0\r\n\r\n")
    return True


# Size


@transport(Reason.POLICY_UNAVAILABLE)
def endless_headers(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\n")
    _flood(exchange, b"X-Header: x\r\n")


@transport(Reason.POLICY_UNAVAILABLE)
def endless_header(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nX: ")
    _flood(exchange, b"x" * 1000)


@transport(Reason.POLICY_UNAVAILABLE)
def endless_interim_responses(exchange: Exchange) -> None:
    _flood(exchange, b"HTTP/1.1 100 Continue\r\n\r\n")


@transport(Reason.POLICY_UNAVAILABLE)
def gzip_bomb(exchange: Exchange) -> bool:
    exchange.respond(gzip.compress(b" " * 50_000_000), headers=b"Content-Encoding: gzip\r\n")
    return True


@transport(Reason.POLICY_UNAVAILABLE)
def one_gigabyte_announced(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    _flood(exchange, b" " * 65536)


@transport(Reason.POLICY_UNAVAILABLE)
def one_gigabyte_in_chunks(exchange: Exchange) -> None:
    exchange.send(_CHUNKED)
    _flood(exchange, _chunk(b" " * 65536))


def _flood(exchange: Exchange, piece: bytes) -> None:
    """Up to a gigabyte, until the other side has had enough (then `sendall` raises)."""
    for _ in range(2**30 // len(piece)):
        exchange.send(piece)
        exchange.server.bytes_sent += len(piece)


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
