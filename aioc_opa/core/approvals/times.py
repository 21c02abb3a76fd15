"""Times of approvals on the wire: RFC 3339 in UTC with milliseconds, one text for one time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339_of_ms(at_ms: int) -> str:
    """`at_ms` (milliseconds since 1970, as stores count) as ``2026-07-01T12:00:00.000Z``.

    Raises:
        ValueError: it is not an int, or lies before year 1 or after year 9999.
    """
    if type(at_ms) is not int:
        raise ValueError("a time is an int of milliseconds")
    try:
        moment = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        raise ValueError("a time must lie in the years 1 to 9999") from None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
