"""The sans-I/O core: one response or `HttpFaultError`, whatever comes and however it is cut."""

from __future__ import annotations

import http.client
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioc_opa.engines.http_exchange import (
    MAX_HEAD_BYTES,
    HttpFaultError,
    HttpResponse,
    ResponseReader,
    request_bytes,
    request_head,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

COUNTED = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"result": 1}'
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"res\r\n8\r\nult": 1}\r\n0\r\n\r\n'
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED
BODY = b'{"result": 1}'


def read(pieces: Iterable[bytes], cap: int = 1000) -> HttpResponse | None:
    reader = ResponseReader(cap)
    response = None
    for piece in pieces:
        assert response is None
        response = reader.feed(piece)
    return response


def fault(data: bytes, cap: int = 1000) -> str:
    """The fault of `data` and then the end of the connection."""
    reader = ResponseReader(cap)
    try:
        assert reader.feed(data) is None
        reader.end_of_file()
    except HttpFaultError as error:
        return str(error)


def test_the_request_is_opas_data_api_with_strict_errors_and_provenance_and_asks_for_no_coding() -> None:
    head = request_head(path="aioc/tool_policy/decision", host="localhost:8181")
    request = request_bytes(head, b"Authorization: Bearer t\r\n", b'{"input":{}}')
    assert request == (
        b"POST /v1/data/aioc/tool_policy/decision?strict-builtin-errors=true&provenance=true HTTP/1.1\r\n"
        b"Host: localhost:8181\r\n"
        b"User-Agent: aioc-opa\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Content-Type: application/json\r\n"
        b"Authorization: Bearer t\r\n"
        b"Content-Length: 12\r\n"
        b"\r\n"
        b'{"input":{}}'
    )


@pytest.mark.parametrize("data", [COUNTED, CHUNKED, INTERIM])
def test_any_two_cuts_give_the_same_response(data: bytes) -> None:
    for first in range(1, len(data)):
        assert read([data[:first], data[first:]]) == HttpResponse(200, BODY, reusable=True)
    assert read(data[i : i + 1] for i in range(len(data))) == HttpResponse(200, BODY, reusable=True)


@pytest.mark.parametrize("data", [COUNTED, CHUNKED, INTERIM])
def test_one_more_byte_is_refused_wherever_it_comes(data: bytes) -> None:
    for extra in (b"\n", b"\r\n", b"H", b"0\r\n\r\n", b"\r\n0\r\n\r\n", data):
        assert fault(data + extra) == "bytes after the end of the response"


@pytest.mark.parametrize("data", [COUNTED, CHUNKED])
def test_an_end_anywhere_before_the_end_is_refused(data: bytes) -> None:
    for end in range(1, len(data)):
        assert fault(data[:end]) == "the connection ended before the response was whole"


def test_the_cap_of_the_body_is_exact() -> None:
    for data in (COUNTED, CHUNKED):
        assert read([data], cap=13) is not None
        assert fault(data, cap=12) == "the response is larger than its cap"


def test_the_cap_of_the_head_is_exact_however_it_comes() -> None:
    frame = len(b"HTTP/1.1 200 OK\r\nX: \r\nContent-Length: 0\r\n\r\n")
    for size, fits in ((MAX_HEAD_BYTES, True), (MAX_HEAD_BYTES + 1, False)):
        head = b"HTTP/1.1 200 OK\r\nX: " + b"x" * (size - frame) + b"\r\nContent-Length: 0\r\n\r\n"
        for pieces in ([head], [head[:-1], head[-1:]]):
            if fits:
                assert read(pieces) == HttpResponse(200, b"", reusable=True)
            else:
                with pytest.raises(HttpFaultError, match="head of the response is larger"):
                    read(pieces)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"", "neither length nor chunks"),
        (b"Content-Length: 1\r\nContent-Encoding: gzip\r\n", "content encoding"),
        (b"Content-Length: 1\r\nContent-Encoding: identity\r\n", "content encoding"),
        (b"Transfer-Encoding: chunked, gzip\r\n", "transfer coding"),
        (b"Transfer-Encoding: gzip, chunked\r\n", "transfer coding"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "twice"),
        (b"Content-Length: 1\r\nContent-Length: 1\r\n", "malformed"),
        (b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "malformed"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "malformed"),
        (b"Content-Length: -1\r\n", "malformed"),
        (b"Content-Length: 1, 1\r\n", "malformed"),
        (b"Content-Length: 99999999999999999999\r\n", "malformed"),
        (b"Content-Length : 1\r\n", "malformed"),
        (b"Content-Length: 1001\r\n", "larger than its cap"),
    ],
)
def test_a_head_that_does_not_say_where_the_body_ends_is_refused(head: bytes, problem: str) -> None:
    assert problem in fault(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n ")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "malformed"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "malformed"),
        (b"HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\n ", "interim"),
        (b"SSH-2.0-x\r\n", "not HTTP/1"),
        (b"<html>", "not HTTP/1"),
        (b"\r\n" + COUNTED, "not HTTP/1"),
        (b"HTTP/1.1 100 Continue\r\n\r\n\r\n" + COUNTED, "not HTTP/1"),
        (b"HTTP/2 200\r\n\r\n", "not HTTP/1"),
        (b"HTTP/1.9 200 OK\r\n\r\n", "malformed"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n", "malformed"),
        (CHUNKED.replace(b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n"), "trailers"),
        (CHUNKED.replace(b"5\r\n", b"zz\r\n"), "malformed"),
        (CHUNKED.replace(b"5\r\n", b"4\r\n"), "malformed"),
    ],
)
def test_what_is_not_one_plain_response_is_refused(data: bytes, problem: str) -> None:
    assert problem in fault(data)


def test_chunk_framing_may_not_outweigh_the_data() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert "outweighs" in fault(head + b"1\r\n \r\n" * 10_000, cap=100_000)
    assert "outweighs" in fault(head + b"1;" + b"x" * 100_000, cap=100_000)
    assert read([head + b"400\r\n" + b" " * 1024 + b"\r\n0\r\n\r\n"], cap=100_000) is not None


def test_only_a_whole_http_1_1_response_without_close_leaves_the_connection_usable() -> None:
    for data, reusable in (
        (COUNTED, True),
        (COUNTED.replace(b"Content-Type: application/json", b"Connection: close"), False),
        (COUNTED.replace(b"HTTP/1.1", b"HTTP/1.0"), False),
        (COUNTED.replace(b"HTTP/1.1 200", b"HTTP/1.1 404"), True),
    ):
        response = read([data])
        assert response is not None
        assert response.reusable is reusable


PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.0 404 No\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"X: y\r\n",
        b"\r\n",
        b"\n",
        b"5\r\n",
        b"hello",
        b"0\r\n\r\n",
        b"0\r\n",
        b"\x00",
        b"",
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=4), max_size=14).map(b"".join), st.integers(1, 50))
def test_whatever_comes_is_a_response_or_the_one_fault_and_cuts_make_no_difference(data: bytes, size: int) -> None:
    def outcome(pieces: list[bytes]) -> HttpResponse | str | None:
        reader = ResponseReader(100)
        for index, piece in enumerate(pieces):
            try:
                response = reader.feed(piece)
            except HttpFaultError:
                return "fault"
            if response is not None:
                # What follows the end in a piece of its own is seen by the connection, not by the reader.
                return response if index == len(pieces) - 1 else "fault"
        return None

    whole = outcome([data] if data else [])
    cut = outcome([data[i : i + size] for i in range(0, len(data), size)])
    assert whole == cut


class _Canned:
    """What `http.client.HTTPResponse` needs of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> io.BytesIO:
        return io.BytesIO(self._data)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([COUNTED, CHUNKED]),
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 2), PIECES | st.binary(max_size=2)), max_size=3),
)
def test_what_is_taken_is_what_the_standard_library_reads(data: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    for at, removed, inserted in edits:
        data = data[:at] + inserted + data[at + removed :]
    try:
        response = ResponseReader(1000).feed(data)
    except HttpFaultError:
        return
    if response is not None:
        other = http.client.HTTPResponse(_Canned(data))  # type: ignore[arg-type]
        other.begin()
        assert (other.status, other.read()) == (response.status, response.body)
