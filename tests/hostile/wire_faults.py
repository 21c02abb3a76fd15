"""What a server can do wrong on the wire: time, ends, framing, size."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from aioc_opa.core.reasons import Reason
from tests.hostile.registry import transport

if TYPE_CHECKING:
    from tests.hostile.server import Exchange

_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


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
