"""A reference to a proposal that only the holder of a tenant's key can make.

``proposalHash`` is an unkeyed digest of arguments: whoever sees it can try every PIN or amount until one fits. So what
leaves the process carries HMAC-SHA-256 (RFC 2104) of it instead. With the key, a call that somebody kept can be
matched to its record; without, a reference says no more than that two proposals of a tenant are equal.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

MIN_KEY_BYTES: Final = 32
"""RFC 2104 section 3: a key shorter than the digest weakens the function."""

_DOMAIN: Final = b"aioc-opa/proposal-ref/1\n"


def proposal_ref(key: bytes, proposal_hash: str) -> str:
    """The reference of a proposal under a tenant's key, 64 lower-case hexadecimal digits.

    Args:
        key: at least `MIN_KEY_BYTES` random bytes.
        proposal_hash: 64 lower-case hexadecimal digits.

    Raises:
        ValueError: the key is too short.
    """
    if type(key) is not bytes or len(key) < MIN_KEY_BYTES:
        raise ValueError(f"a reference key has at least {MIN_KEY_BYTES} bytes")
    return hmac.new(key, _DOMAIN + proposal_hash.encode("ascii"), hashlib.sha256).hexdigest()
