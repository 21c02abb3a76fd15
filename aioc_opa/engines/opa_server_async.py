"""The OPA server engine for an event loop. The rules are those of `opa_server`; this is its other edge.

Each loop has connections of its own: asyncio's transports belong to the loop that made them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.opa_response import is_shifted, read_answer
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.http_async import AsyncConnectionPool
from aioc_opa.engines.http_exchange import DeadlineError, HttpFaultError
from aioc_opa.engines.http_resolver import Resolver
from aioc_opa.engines.opa_server_settings import DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_RESPONSE_BYTES, OpaServerSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.protocol import DecisionPath


class AsyncOpaServerEngine:
    """An OPA server, asked from an event loop. Arguments and errors as in `opa_server.OpaServerEngine`.

    `max_connections` counts for each loop. Close it with `aclose` in the loop that used it, before that loop ends.
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
        self._max_connections: Final = max_connections
        self._resolver: Final = Resolver(self._settings.endpoint)
        self._pools: Final[dict[asyncio.AbstractEventLoop, AsyncConnectionPool]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.endpoint.text!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def name(self) -> str:
        """``"opa"``."""
        return "opa"

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """Ask OPA for the decision at `path`. Cancelling closes the connection, which makes OPA stop evaluating.

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
        pool = self._pool()
        try:
            connection = await pool.acquire(deadline)
            try:
                if connection is None:
                    connection = await pool.connect(settings.endpoint, self._resolver, deadline)
                response = await connection.exchange(request, settings.max_response_bytes, deadline)
                answer = read_answer(response.status, response.body, settings.limits)
                if is_shifted(answer, body):
                    connection.reusable = False
            finally:
                pool.release(connection)
        except DeadlineError as error:
            raise settings.timed_out(error) from error
        except (HttpFaultError, OSError) as error:
            raise settings.unavailable(error) from error
        return answer

    async def aclose(self) -> None:
        """Close the connections. Questions in flight are still answered; later ones raise `EngineFailureError`."""
        self._closed = True
        here = asyncio.get_running_loop()
        for loop, pool in list(self._pools.items()):
            if loop is here:
                pool.close()
            else:
                with suppress(RuntimeError):  # a loop that is closed has no connections any more
                    loop.call_soon_threadsafe(pool.close)
        self._pools.clear()
        await asyncio.sleep(0)  # transports close their sockets in the loop's next turn

    def _pool(self) -> AsyncConnectionPool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for other in [known for known in self._pools if known.is_closed()]:
                self._pools.pop(other, None)
            pool = self._pools[loop] = AsyncConnectionPool(loop, self._max_connections)
        return pool
