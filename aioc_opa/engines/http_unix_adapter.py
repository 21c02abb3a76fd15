"""A transport adapter of `requests` for one Unix socket, whatever the URL says."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

if TYPE_CHECKING:
    from collections.abc import Mapping


class _UnixConnection(HTTPConnection):
    unix_path = ""

    def connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX)
        timeout = self.timeout
        sock.settimeout(timeout if isinstance(timeout, int | float) else None)
        try:
            sock.connect(self.unix_path)
        except BaseException:
            sock.close()
            raise
        self.sock = sock


class UnixAdapter(HTTPAdapter):
    """Sends everything to one Unix socket.

    Args:
        path: of the socket.
    """

    def __init__(self, path: str) -> None:
        super().__init__(max_retries=0)
        self._pool = HTTPConnectionPool("localhost")
        self._pool.ConnectionCls = type("_Connection", (_UnixConnection,), {"unix_path": path})

    def get_connection_with_tls_context(
        self,
        request: object,  # noqa: ARG002 - the signature of HTTPAdapter
        verify: object,  # noqa: ARG002 - likewise
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002 - likewise; there is no proxy to a file
        cert: Any = None,  # noqa: ARG002 - likewise
    ) -> HTTPConnectionPool:
        """The pool of this socket."""
        return self._pool

    def close(self) -> None:
        """Close the pool too."""
        self._pool.close()
        super().close()
