"""The header that ties OPA's spans and decision log to the caller's trace: W3C Trace Context, ``traceparent``.

https://www.w3.org/TR/trace-context/#traceparent-header. A trace is a help, never a condition: what cannot be had, or
is not exactly of version 00, is not sent, and the question is asked without it.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

logger: Final = logging.getLogger("aioc_opa.telemetry")

_VERSION_00: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def trace_line(traceparent: Callable[[], str | None]) -> bytes:
    """The header line with its CRLF, or nothing. Never raises."""
    try:
        text = traceparent()
    except Exception as error:  # noqa: BLE001 - an application's function; a decision does not depend on it
        logger.warning("the trace context cannot be had: %s", type(error).__name__)
        return b""
    if type(text) is not str or _VERSION_00.fullmatch(text) is None:
        return b""
    return b"traceparent: %b\r\n" % text.encode("ascii")
