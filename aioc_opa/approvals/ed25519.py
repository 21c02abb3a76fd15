"""Ed25519 (RFC 8032) by the library `cryptography` (extra `approvals`), imported when a key is first used."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import ConfigurationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SEED_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_NO_EXTRA: Final = "votes need the library cryptography: pip install 'aioc-opa[approvals]'"


def private_key(seed: bytes) -> Ed25519PrivateKey:
    """The private key of a 32 byte seed (RFC 8032 section 5.1.5).

    Raises:
        ConfigurationError: the extra `approvals` is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigurationError(_NO_EXTRA) from None
    return Ed25519PrivateKey.from_private_bytes(seed)


def verifies(public_key: bytes, message: bytes, signature: str) -> bool:
    """Whether `signature` is that of `message` under a public key that `public_key_problem` has passed.

    There is one base64 text for 64 bytes here, and OpenSSL takes no S beyond the group's order (RFC 8032 section
    5.1.7), so that nobody can turn one signature into another.

    Raises:
        ConfigurationError: the extra `approvals` is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigurationError(_NO_EXTRA) from None
    raw = from_base64(signature, _SIGNATURE_BYTES)
    if raw is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw, message)
    except InvalidSignature:
        return False
    return True


def to_base64(raw: bytes) -> str:
    """RFC 4648 section 4, with padding."""
    return base64.b64encode(raw).decode("ascii")


def from_base64(text: str, size: int) -> bytes | None:
    """The `size` bytes that `text` is the base64 of; None when it is not exactly what `to_base64` writes."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if len(raw) == size and to_base64(raw) == text else None
