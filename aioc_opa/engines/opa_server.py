"""The OPA server engine for threads: one `POST` a question (design 4), over the sans-I/O core of `http_exchange`.

What a question may do, in order:

1. A place among `max_connections`, at most until the deadline.
2. An idle connection that is not stale, or a new one: TCP, TLS with the name verified, or a Unix socket. A refused
   connection is tried once more. That is the only retry: nothing has been sent.
3. The request, once. Whatever happens from here on, it is not sent again: OPA could have evaluated it.
4. The response, checked by `http_exchange` and read by `core.opa_response`. A redirect is not followed: it is a status
   that is not 200.
5. The connection is kept only after a whole response, and only if it does not answer another question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.opa_response import is_shifted, read_answer
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.http_exchange import DeadlineError, HttpFaultError
from aioc_opa.engines.http_resolver import Resolver
from aioc_opa.engines.http_socket import connect
from aioc_opa.engines.opa_server_async import AsyncOpaServerEngine
from aioc_opa.engines.opa_server_settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_RESPONSE_BYTES, OpaServerSettings
from aioc_opa.engines.pool import ConnectionPool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.protocol import DecisionPath

__all__ = ["AsyncOpaServerEngine", "OpaServerEngine"]


class OpaServerEngine:
    """An OPA server, asked synchronously. Thread-safe; a forked child starts with connections of its own.

    Plain ``http`` to another machine is for networks that are protected by other means: whoever can change packets on
    the way can answer "allow", and reads the bearer token. Use https, or a Unix socket.

    Args:
        url: ``http://host[:port]``, ``https://host[:port]`` or ``unix:/path``.
        token: bearer token; or
        token_file: a file that holds it, read again when it changes.
        ca_file: the only authorities (PEM) that are trusted for https; the system's when not given.
        client_cert_file: our certificate chain (PEM) for mutual TLS.
        client_key_file: its key (PEM, unencrypted), when it is in a file of its own.
        max_response_bytes: cap of a response's body.
        max_connections: connections, and with them questions in flight. OPA saturates at about four a core, and more
            only grow the tail.
        traceparent: gives the W3C trace context of the decision, for OPA's own spans and decision log; such as
            `telemetry.otel.current_traceparent`.

    Raises:
        EngineConfigurationError: one of these cannot work.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_file: Path | str | None = None,
        ca_file: Path | str | None = None,
        client_cert_file: Path | str | None = None,
        client_key_file: Path | str | None = None,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
        traceparent: Callable[[], str | None] | None = None,
    ) -> None:
        self._settings: Final = OpaServerSettings.check(
            url,
            token=token,
            token_file=token_file,
            ca_file=ca_file,
            client_cert_file=client_cert_file,
            client_key_file=client_key_file,
            max_response_bytes=max_response_bytes,
            max_connections=max_connections,
            traceparent=traceparent,
        )
        self._resolver: Final = Resolver(self._settings.endpoint)
        self._pool: Final = ConnectionPool(max_connections)
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.endpoint.text!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """``"opa"``."""
        return "opa"

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """Ask OPA for the decision at `path`.

        Args:
            path: of the decision.
            body: UTF-8 JSON text of ``{"input": …}``.
            deadline: from now to the last byte of the response.

        Raises:
            EngineFailureError: no usable answer; `reason` says which kind.
        """
        if self._closed:
            raise EngineFailureError(Reason.POLICY_UNAVAILABLE, "the engine is closed")
        settings = self._settings
        request = settings.request(path, body)
        try:
            connection = self._pool.acquire(deadline)
            try:
                if connection is None:
                    connection = connect(settings.endpoint, self._resolver, deadline)
                response = connection.exchange(request, settings.max_response_bytes, deadline)
                answer = read_answer(response.status, response.body, settings.limits)
                if is_shifted(answer, body):
                    connection.reusable = False
            finally:
                self._pool.release(connection)
        except DeadlineError as error:
            raise settings.timed_out(error) from error
        except (HttpFaultError, OSError) as error:
            raise settings.unavailable(error) from error
        return answer

    def close(self) -> None:
        """Close the connections. Questions in flight are still answered; later ones raise `EngineFailureError`."""
        self._closed = True
        self._pool.close()
