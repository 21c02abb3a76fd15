"""Whether 32 bytes are a public key that only the holder of one private key can sign for (RFC 8032 section 5.1).

OpenSSL takes any 32 bytes for a public key and looks at them when it verifies. For a point of small order everybody
can write signatures that verify, so such a key would let anybody vote.
"""

from __future__ import annotations

from typing import Final

PUBLIC_KEY_BYTES: Final = 32

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P

# y of the eight points whose order divides 8: of order 4, 1, 2 and, twice, 8. A test adds each to itself.
_ORDER_8: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER: Final = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


def public_key_problem(key: bytes) -> str | None:
    """What is wrong with a public key; None when it is the one encoding of a point that is not of small order.

    Args:
        key: as RFC 8032 section 5.1.2 encodes it: y, little-endian, with the sign of x in the highest bit.
    """
    if len(key) != PUBLIC_KEY_BYTES:
        return f"an Ed25519 public key has {PUBLIC_KEY_BYTES} bytes"
    encoded = int.from_bytes(key, "little")
    y = encoded & ((1 << 255) - 1)
    if y >= _P:
        return "it is not the canonical encoding of a point (RFC 8032 section 5.1.3)"
    if y in _SMALL_ORDER:
        return "it is a point of small order: anybody could sign for it"
    # Section 5.1.3: x² = (y² - 1) / (d y² + 1) must have a root. The denominator is never 0, as -1/d has none.
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if pow(square, (_P - 1) // 2, _P) != 1:
        return "it is no point of the curve (RFC 8032 section 5.1.3)"
    return None
