"""Where an OPA server listens, and how its name is proven. Checked when it is configured, never at a call.

``http://host[:port]``, ``https://host[:port]`` and ``unix:/path/of/socket`` (also OPA's own ``unix:///path``); no user
information, path, query or fragment. Nothing is taken from the environment: no proxy, no ``.netrc``, no key log file.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?/?"
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65535
_MAX_UNIX_PATH_BYTES: Final = 103
"""`sun_path` holds 108 bytes on Linux and 104 on macOS, a NUL included."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of one OPA server.

    Attributes:
        text: as configured, for people and error messages.
        host: name or IP address; "" for a Unix socket.
        port: TCP port; 0 for a Unix socket.
        unix_path: absolute path of the socket; None for TCP.
        tls: the context; None for plain HTTP and Unix sockets.
        host_header: value of the ``Host`` header.
        needs_resolver: whether `host` is a name, so that connecting has to ask a resolver first.
    """

    text: str
    host: str
    port: int
    unix_path: str | None
    tls: ssl.SSLContext | None
    host_header: str
    needs_resolver: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files for ``https``.

    Attributes:
        ca_file: the only authorities that are trusted; None takes the system's.
        client_cert_file: our certificate chain, for mutual TLS.
        client_key_file: its key, unencrypted; None when `client_cert_file` holds it too.
    """

    ca_file: Path | str | None = None
    client_cert_file: Path | str | None = None
    client_key_file: Path | str | None = None

    def given(self) -> bool:
        """Whether any is set."""
        return any((self.ca_file, self.client_cert_file, self.client_key_file))


def parse_endpoint(url: str, files: TlsFiles) -> Endpoint:
    """Check `url` and load what TLS needs.

    Raises:
        EngineConfigurationError: the URL is not one of the three forms, TLS files do not fit it, or cannot be loaded.
    """
    if url.startswith("unix:"):
        return _unix_endpoint(url, files)
    match = _URL.fullmatch(url)
    if match is None:
        _refuse(
            "the OPA server's URL is not http://host:port, https://host:port or unix:/path "
            "(no user information, path, query or fragment)"
        )
    scheme = match["scheme"]
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    if not 1 <= port <= _MAX_PORT:
        _refuse(f"the OPA server's port {port} is not one of 1 to {_MAX_PORT}")
    if scheme == "http" and files.given():
        _refuse("TLS files were given for a plain http URL: write https, or leave them out")
    host = match["ipv6"] or match["host"]
    is_address = _is_ip_address(host)
    if match["ipv6"] and not is_address:
        _refuse("the OPA server's URL has no IPv6 address between its brackets")
    authority = f"[{host}]" if match["ipv6"] else host
    return Endpoint(
        text=f"{scheme}://{authority}:{port}",
        host=host,
        port=port,
        unix_path=None,
        tls=_tls_context(files) if scheme == "https" else None,
        host_header=f"{authority}:{port}",
        needs_resolver=not is_address,
    )


def _unix_endpoint(url: str, files: TlsFiles) -> Endpoint:
    path = url.removeprefix("unix:")
    if path.startswith("//"):
        path = path.removeprefix("//")
        if not path.startswith("/") or path.startswith("//"):
            _refuse("the OPA server's Unix socket is written unix:/path or unix:///path")
    if not path or "\0" in path:
        _refuse("the path of the OPA server's Unix socket is empty or holds a NUL")
    path = os.path.abspath(path)  # noqa: PTH100 - Path.absolute() keeps "..", Path.resolve() follows links
    if len(os.fsencode(path)) > _MAX_UNIX_PATH_BYTES:
        _refuse(f"the path of the OPA server's Unix socket is longer than {_MAX_UNIX_PATH_BYTES} bytes")
    if files.given():
        _refuse("TLS files were given for a Unix socket: leave them out")
    return Endpoint(
        text=f"unix:{path}",
        host="",
        port=0,
        unix_path=path,
        tls=None,
        host_header="localhost",
        needs_resolver=False,
    )


def _tls_context(files: TlsFiles) -> ssl.SSLContext:
    """TLS 1.2 or newer, the name verified. Not `create_default_context`, which writes keys to ``SSLKEYLOGFILE``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # check_hostname and CERT_REQUIRED are its defaults
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if files.ca_file is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        try:
            context.load_verify_locations(cafile=os.fspath(files.ca_file))
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise EngineConfigurationError(f"ca_file {str(files.ca_file)!r} has no certificates: {error}") from error
    if files.client_cert_file is None:
        if files.client_key_file is not None:
            _refuse("client_key_file was given without client_cert_file")
        return context
    try:
        context.load_cert_chain(
            os.fspath(files.client_cert_file),
            None if files.client_key_file is None else os.fspath(files.client_key_file),
            password=_no_password,
        )
    except (OSError, ValueError) as error:
        raise EngineConfigurationError(
            f"client_cert_file {str(files.client_cert_file)!r} and its key cannot be used: {error}"
        ) from error
    return context


def _no_password() -> str:
    """Without this, OpenSSL asks the terminal for an encrypted key's password, and a service hangs."""
    raise ValueError("the key is encrypted, and a password is not supported")


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse(problem: str) -> NoReturn:
    raise EngineConfigurationError(problem)
