"""Names that the gate lets through: exact type, bounded, and text that UTF-8 can carry."""

from __future__ import annotations

import hashlib
from typing import Final

MAX_NAME: Final = 128
"""Characters of a name in a request or an event."""


def is_name(value: object, limit: int = MAX_NAME) -> bool:
    """Whether `value` is exactly a str of 1 to `limit` characters without lone surrogates.

    A subclass is no name: it may carry anything, and answer otherwise than its text says.
    """
    if type(value) is not str or not 1 <= len(value) <= limit:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def digest_name(value: object) -> str:
    """``sha256:`` and the digest of a name that must not be shown; of nothing when it is no plain str."""
    text = value if type(value) is str else ""
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def bounded_id(value: str) -> str:
    """The id itself up to `MAX_NAME` characters, else its digest: still one id a run, and bounded."""
    return value if len(value) <= MAX_NAME else digest_name(value)
