"""RFC 3339 times, exactly: what ``datetime.fromisoformat`` takes beyond them is refused."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

# RFC 3339 section 5.6, upper-case T and Z only (the section allows to require that).
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def parse_rfc3339(text: str) -> datetime | None:
    """The time that `text` names, with its offset; None when it is not an RFC 3339 date-time.

    Leap seconds (``:60``) are refused: `datetime` cannot hold them. Digits past microseconds are cut.
    """
    if _TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
