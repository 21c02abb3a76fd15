"""One HTTP/1.1 exchange with OPA, without I/O: the bytes of the request, and a reader of the response.

`httptools` (llhttp) parses. What it does not check is checked here, and each check is a rule of this module:

1. The head ends with an empty line within `MAX_HEAD_BYTES`, interim (1xx) responses included. llhttp has no cap.
2. The body's end is known from the head: ``Content-Length``, or ``Transfer-Encoding`` of exactly ``chunked``
   (RFC 9112 section 6.3). A body that only the end of the connection ends cannot be told from a cut one. Both at once
   is a smuggling attempt (section 6.1); llhttp refuses it, and any number that is not plain digits.
3. The body is at most the cap, before and after it has arrived.
4. No ``Content-Encoding``: we ask for none, and a gzip bomb needs one. No trailers, and no upgrade.
5. Nothing follows the body: not a second response, not a CRLF. llhttp lets both pass.
6. Chunk framing may not outweigh the data by more than a head: endless chunk extensions and one-byte chunks stop there.
7. The connection may be used again only after a whole HTTP/1.1 response that does not say ``Connection: close``.

A breach raises `HttpFaultError`; the caller closes the connection. What keeps the time raises `DeadlineError`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, NoReturn

import httptools

MAX_HEAD_BYTES: Final = 16 * 1024
"""Status line and headers of one exchange, interim responses included. OPA's are below 300 bytes."""

_END_OF_HEAD: Final = b"\r\n\r\n"
_END_OF_CHUNKS: Final = b"0\r\n\r\n"
_PREFIX: Final = b"HTTP/1."
_FRAMING_HEADERS: Final = frozenset((b"content-length", b"transfer-encoding", b"content-encoding"))
_INTERIM_END: Final = 200
_SWITCHING_PROTOCOLS: Final = 101


class HttpFaultError(Exception):
    """The peer broke a rule of this module. The text is for operators and holds nothing that the peer sent."""


class DeadlineError(Exception):
    """The deadline has passed; the text says during what."""


class HttpResponse(NamedTuple):
    """A whole response.

    Attributes:
        status: the status code, never 1xx.
        body: its bytes.
        reusable: whether the connection may carry another exchange.
    """

    status: int
    body: bytes
    reusable: bool


def request_head(*, path: str, host: str) -> bytes:
    """Everything of a decision request before the value of ``Content-Length`` that does not change.

    ``strict-builtin-errors``: without it a failing builtin is undefined, and ``not`` turns that into an allow.
    ``provenance``: the bundle revisions. https://www.openpolicyagent.org/docs/rest-api

    Args:
        path: path of the decision below ``/v1/data/``, checked by `DecisionPath`.
        host: value of ``Host``, checked by `Endpoint`.
    """
    return (
        f"POST /v1/data/{path}?strict-builtin-errors=true&provenance=true HTTP/1.1\r\n"
        f"Host: {host}\r\n"
        "User-Agent: aioc-opa\r\n"
        "Accept: application/json\r\n"
        "Accept-Encoding: identity\r\n"
        "Content-Type: application/json\r\n"
    ).encode("ascii")


def request_bytes(head: bytes, authorization: bytes, body: bytes) -> bytes:
    """One request, to be sent by one write.

    Args:
        head: of `request_head`.
        authorization: whole header lines with their CRLF, or nothing: authorization, trace context.
        body: the JSON text.
    """
    return b"%b%bContent-Length: %d\r\n\r\n%b" % (head, authorization, len(body), body)


class ResponseReader:
    """Reads one response from pieces of any size. Not for a second one.

    Args:
        max_body_bytes: cap of the body.
    """

    __slots__ = (
        "_after_head",
        "_body_bytes",
        "_chunked",
        "_complete",
        "_fault",
        "_framing_bytes",
        "_head",
        "_headers",
        "_headers_complete",
        "_length",
        "_max_body_bytes",
        "_parser",
        "_pieces",
        "_reusable",
        "_status",
        "_tail",
    )

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._head = b""
        self._framing_bytes = 0
        self._after_head = False
        self._status = 0
        self._reusable = False
        self._length = 0
        self._chunked = False
        self._pieces: list[bytes] = []
        self._body_bytes = 0
        self._tail = b""
        self._fault = ""
        self._start_message()

    def feed(self, data: bytes) -> HttpResponse | None:
        """Take what has arrived (not empty); the response once it is whole.

        Raises:
            HttpFaultError: a rule is broken.
        """
        if self._after_head:
            return self._feed_chunks(data) if self._chunked else self._feed_counted(data)
        self._head = self._head + data if self._head else data
        self._require_http()
        while (found := self._head.find(_END_OF_HEAD)) >= 0:
            end = found + len(_END_OF_HEAD)
            rest = self._head[end:]
            self._framing_bytes += end
            if self._framing_bytes > MAX_HEAD_BYTES:
                _fail("the head of the response is larger than its cap")
            self._read_head(self._head[:end])
            self._head = rest
            if self._status >= _INTERIM_END:
                self._after_head = True
                return self._feed_chunks(rest) if self._chunked else self._feed_counted(rest)
            self._start_message()
            self._require_http()
        if self._framing_bytes + len(self._head) > MAX_HEAD_BYTES:
            _fail("the head of the response is larger than its cap")
        return None

    def end_of_file(self) -> NoReturn:
        """The peer has closed before the response was whole.

        Raises:
            HttpFaultError: always.
        """
        _fail("the connection ended before the response was whole")

    def _start_message(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._headers_complete = False
        self._complete = False
        self._parser = httptools.HttpResponseParser(self)

    def _require_http(self) -> None:
        """Refuse what cannot become HTTP at once: another protocol's greeting would else be waited out."""
        if not self._head.startswith(_PREFIX[: len(self._head)]):
            _fail("the answer is not HTTP/1")

    def _read_head(self, head: bytes) -> None:
        self._parse(head)
        self._status = self._parser.get_status_code()
        if self._status < _INTERIM_END:
            # RFC 9110 section 15.2: interim responses have no body and may be skipped, but for the one that switches.
            if self._status == _SWITCHING_PROTOCOLS or self._headers or not self._headers_complete:
                _fail("an interim response that switches protocols or has a body")
            return
        headers = self._headers
        if b"content-encoding" in headers:
            _fail("the response has a content encoding, which was not asked for")
        coding = headers.get(b"transfer-encoding")
        if coding is not None:
            if coding.lower() != b"chunked":
                _fail("a transfer coding other than chunked")
            self._chunked = True
            return
        length = headers.get(b"content-length")
        if length is None:
            _fail("neither length nor chunks")
        self._length = int(length)  # llhttp has checked: digits and trailing blanks, at most 2^64-1
        if self._length > self._max_body_bytes:
            _fail("the response is larger than its cap")

    def _feed_counted(self, data: bytes) -> HttpResponse | None:
        self._body_bytes += len(data)
        if self._body_bytes > self._length:
            _fail("bytes after the end of the response")
        self._pieces.append(data)
        return self._whole() if self._body_bytes == self._length else None

    def _feed_chunks(self, data: bytes) -> HttpResponse | None:
        self._framing_bytes += len(data)
        self._tail = (self._tail + data)[-len(_END_OF_CHUNKS) :]
        self._parse(data)
        if self._framing_bytes - self._body_bytes > MAX_HEAD_BYTES + self._body_bytes:
            _fail("the framing of the chunks outweighs their data")
        if not self._complete:
            return None
        if self._tail != _END_OF_CHUNKS:
            _fail("bytes after the end of the response")
        return self._whole()

    def _whole(self) -> HttpResponse:
        del self._parser  # it refers to our callbacks: a cycle that only the garbage collector would free
        return HttpResponse(self._status, b"".join(self._pieces), self._reusable)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # Callbacks note a fault and do not raise; llhttp may stumble over what follows it.
            _fail(self._fault or f"malformed HTTP ({type(error).__name__})")
        if self._fault:
            _fail(self._fault)

    def _note(self, fault: str) -> None:
        """For the callbacks: httptools would wrap what they raise. The first fault stands."""
        self._fault = self._fault or fault

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        """A message begins; a second one is bytes after the end."""
        if self._complete:
            self._note("bytes after the end of the response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        if self._headers_complete:
            self._note("trailers after the chunks")
            return
        lowered = name.lower()
        if lowered in _FRAMING_HEADERS:
            if lowered in self._headers:
                self._note("a framing header stands twice")
            self._headers[lowered] = value

    def on_headers_complete(self) -> None:
        """The head is whole. Asked here, because llhttp forgets it with the end of an empty body."""
        self._headers_complete = True
        self._reusable = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"

    def on_body(self, data: bytes) -> None:
        """A piece of a chunk."""
        self._body_bytes += len(data)
        if self._body_bytes > self._max_body_bytes:
            self._note("the response is larger than its cap")
            return
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """The message is whole."""
        self._complete = True


def _fail(problem: str) -> NoReturn:
    raise HttpFaultError(problem)
