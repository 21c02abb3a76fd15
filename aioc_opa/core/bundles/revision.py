"""The revision of a bundle: ``<counter>-<sha256 of the content>``.

The counter orders revisions, and is what an attacker who serves an old, well-signed bundle again cannot raise; the
digest says which content it is (`content`). OPA itself gives the text no meaning
(https://www.openpolicyagent.org/docs/management-bundles#bundle-file-format).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_COUNTER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps (RFC 8785 section 3.2.2.3)."""

_REVISION: Final = re.compile(r"(0|[1-9][0-9]{0,15})-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision.

    Attributes:
        counter: from 0 to `MAX_COUNTER`; the publisher raises it with every bundle.
        digest: lower-case hex SHA-256 of the content.
    """

    counter: int
    digest: str

    def __str__(self) -> str:
        return f"{self.counter}-{self.digest}"


def parse_revision(text: str) -> Revision | None:
    """The revision that `text` is; None when it is anything else, also another spelling of one."""
    match = _REVISION.fullmatch(text)
    if match is None:
        return None
    counter = int(match[1])
    return Revision(counter, match[2]) if counter <= MAX_COUNTER else None
