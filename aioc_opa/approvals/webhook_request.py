"""One signed POST, within one total deadline, to one address and no other.

`requests` bounds each connect and each read, not their sum, and cannot bound the resolver at all: a receiver that drips
bytes would hold its caller for ever. So an attempt has a thread of its own, which nobody waits for past the deadline,
and then its connection is cut from outside.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Printable ASCII without space, backslash or '#': readers of URLs differ about those, and about user information.
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?][\x21\x22\x24-\x5b\x5d-\x7e]*)?"
)
_MAX_PORT: Final = 65_535


def check_url(url: str) -> str:
    """The origin of a webhook's URL, for messages: its path may hold a secret of the receiver's.

    Raises:
        ConfigurationError: it is not an https URL without user information or fragment; http to loopback will do.
    """
    match = _URL.fullmatch(url)
    if match is None or not 0 < int(match["port"] or 1) <= _MAX_PORT:
        raise ConfigurationError("a webhook's URL is https://host[:port][/path][?query], in ASCII, without user or #")
    if match["scheme"] == "http" and not _is_loopback(match["host"]):
        raise ConfigurationError("a webhook goes over https; over http to a loopback address only")
    port = f":{match['port']}" if match["port"] else ""
    return f"{match['scheme']}://{match['host']}{port}"


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":  # RFC 6761 section 6.3
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Answered(NamedTuple):
    """The head of an answer.

    Attributes:
        status: of HTTP.
        retry_after: header ``Retry-After``, as it came.
    """

    status: int
    retry_after: str | None


class Attempt:
    """One POST. Use once.

    Args:
        url: that `check_url` took.
        headers: of the request.
        body: of the request.
        timeout_seconds: for all of it: resolver, connect, TLS, request and the answer's head. Its body is not read.
        ca_file: certificates of authorities to trust; the system's when None.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_seconds: float, ca_file: Path | str | None
    ) -> None:
        self._url: Final = url
        self._headers: Final = dict(headers)
        self._body: Final = body
        self._timeout: Final = timeout_seconds
        self._verify: Final = _authorities(ca_file)
        self._done: Final = threading.Event()
        self._lock: Final = threading.Lock()
        self._connection: socket.socket | None = None
        self._cut = False
        self._answer: Answered | None = None
        self._error = "Timeout"

    def run(self) -> Answered | str:
        """The answer, or the class of the error that there was instead (``Timeout``: of the whole)."""
        threading.Thread(target=self._post, name="aioc-opa-webhook-attempt", daemon=True).start()
        in_time = self._done.wait(self._timeout)
        self._cut_connection()
        if not in_time:
            return "Timeout"
        return self._answer or self._error

    def _post(self) -> None:
        try:
            with requests.Session() as session:
                session.trust_env = False  # no proxy, no .netrc, no REQUESTS_CA_BUNDLE
                session.verify = self._verify
                adapter = _WatchedAdapter(self)
                session.mount("https://", adapter)
                session.mount("http://", adapter)
                with session.post(
                    self._url,
                    data=self._body,
                    headers=self._headers,
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                ) as answer:
                    self._answer = Answered(answer.status_code, answer.headers.get("Retry-After"))
        except Exception as error:  # noqa: BLE001 - beside requests' own: LocationParseError, UnicodeError, OSError …
            self._error = type(error).__name__
        finally:
            self._done.set()

    def watch(self, sock: socket.socket) -> None:
        """Called by the connection once it is there: from now on it can be cut."""
        copy = sock.dup()  # TLS takes the original's descriptor over; a shutdown goes through either
        with self._lock:
            if not self._cut:
                self._connection = copy
                return
        _shut_down(copy)

    def _cut_connection(self) -> None:
        with self._lock:
            self._cut = True
            connection, self._connection = self._connection, None
        if connection is not None:
            _shut_down(connection)


def _shut_down(sock: socket.socket) -> None:
    with sock, suppress(OSError):  # it has ended already
        sock.shutdown(socket.SHUT_RDWR)


class _WatchedAdapter(HTTPAdapter):
    """Its connections tell the attempt of their sockets, and it never tries again by itself."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(max_retries=0)

        class Plain(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                sock = super()._new_conn()
                attempt.watch(sock)
                return sock

        class Tls(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                sock = super()._new_conn()
                attempt.watch(sock)
                return sock

        plain = type("_PlainPool", (HTTPConnectionPool,), {"ConnectionCls": Plain})
        tls = type("_TlsPool", (HTTPSConnectionPool,), {"ConnectionCls": Tls})
        self.poolmanager.pool_classes_by_scheme = {"http": plain, "https": tls}


def _authorities(ca_file: Path | str | None) -> str | bool:
    """The given file, else the system's; `requests` would take a list of its own."""
    if ca_file is not None:
        return str(ca_file)
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or True
