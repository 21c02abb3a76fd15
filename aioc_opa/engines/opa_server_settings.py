"""What the two OPA server engines share: checked settings, the bytes of a request, and the words for a failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.core.limits import RESPONSE_LIMITS, JsonLimits
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.http_endpoint import Endpoint, TlsFiles, parse_endpoint
from aioc_opa.engines.http_exchange import DeadlineError, HttpFaultError, request_bytes, request_head
from aioc_opa.engines.http_token import Authorization, authorization
from aioc_opa.engines.http_trace import trace_line
from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aioc_opa.engines.protocol import DecisionPath

DEFAULT_MAX_RESPONSE_BYTES: Final = RESPONSE_LIMITS.max_bytes
DEFAULT_MAX_CONNECTIONS: Final = 8

_LARGEST: Final = {"max_response_bytes": 2**30, "max_connections": 1024}


@dataclass(frozen=True, slots=True)
class OpaServerSettings:
    """Settings that have been checked.

    Attributes:
        endpoint: where the server listens.
        authorization: gives the ``Authorization`` line.
        max_response_bytes: cap of a response's body.
        limits: of a response's JSON.
        traceparent: gives the trace context of a question; None sends none.
    """

    endpoint: Endpoint
    authorization: Authorization
    max_response_bytes: int
    limits: JsonLimits
    traceparent: Callable[[], str | None] | None = None
    _heads: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def check(
        cls,
        url: str,
        *,
        token: str | None,
        token_file: Path | str | None,
        ca_file: Path | str | None,
        client_cert_file: Path | str | None,
        client_key_file: Path | str | None,
        max_response_bytes: int,
        max_connections: int,
        traceparent: Callable[[], str | None] | None = None,
    ) -> OpaServerSettings:
        """Check what a user gave.

        Raises:
            EngineConfigurationError: it cannot work; the message says what to change.
        """
        for name, value in (("max_response_bytes", max_response_bytes), ("max_connections", max_connections)):
            if type(value) is not int or not 1 <= value <= _LARGEST[name]:
                raise EngineConfigurationError(f"{name} must be an integer from 1 to {_LARGEST[name]}, not {value!r}")
        files = TlsFiles(ca_file=ca_file, client_cert_file=client_cert_file, client_key_file=client_key_file)
        return cls(
            endpoint=parse_endpoint(url, files),
            authorization=authorization(token=token, token_file=token_file),
            max_response_bytes=max_response_bytes,
            limits=JsonLimits(max_bytes=max(max_response_bytes, 2)),
            traceparent=traceparent,
        )

    def request(self, path: DecisionPath, body: bytes) -> bytes:
        """The bytes of one request. A guard has few paths, so their heads are kept.

        Raises:
            EngineFailureError: the token file cannot be used any more.
        """
        head = self._heads.get(path.text)
        if head is None:
            head = self._heads[path.text] = request_head(path=path.text, host=self.endpoint.host_header)
        lines = self.authorization.line()
        if self.traceparent is not None:
            lines += trace_line(self.traceparent)
        return request_bytes(head, lines, body)

    def timed_out(self, error: DeadlineError) -> EngineFailureError:
        """The failure for a deadline that has passed."""
        return EngineFailureError(Reason.POLICY_TIMEOUT, f"{self.endpoint.text}: past the deadline {error}")

    def unavailable(self, error: HttpFaultError | OSError) -> EngineFailureError:
        """The failure for a connection that cannot be had or was not used as HTTP wants it."""
        words = str(error) or type(error).__name__
        return EngineFailureError(Reason.POLICY_UNAVAILABLE, f"{self.endpoint.text}: {words}")
