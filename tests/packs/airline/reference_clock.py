"""The times of RULES.md 0.10 and 6.2, for the Python implementation of the airline rules."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

DAY_NANOSECONDS: Final = 24 * 3600 * 10**9
_LOCAL: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")
_OFFSET: Final = re.compile(r"(.*?)(?:Z|[+-]([0-9]{2}):([0-9]{2}))", re.DOTALL)


def nanoseconds(local: str) -> int | None:
    """A local time as one number.

    Open: what is no such time, or not of the years 1700 to 2199, permits nothing, so it is never within 24 hours.
    """
    match = _LOCAL.fullmatch(local)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if hour > 23 or minute > 59 or second > 59 or not 1700 <= year <= 2199:
        return None
    try:
        ordinal = date(year, month, day).toordinal()
    except ValueError:
        return None
    whole = ((ordinal * 24 + hour) * 60 + minute) * 60 + second
    return whole * 10**9 + int((match[7] or "").ljust(9, "0"))


def booked_within_a_day(now: str, created_at: str) -> bool:
    """6.2 with 0.10: both are read with the offset of `now`, which therefore cancels out."""
    match = _OFFSET.fullmatch(now)
    if match is None or int(match[2] or 0) > 23 or int(match[3] or 0) > 59:
        return False
    end, start = nanoseconds(match[1]), nanoseconds(created_at)
    return end is not None and start is not None and 0 <= end - start <= DAY_NANOSECONDS
