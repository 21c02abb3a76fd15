"""Encryption of stored arguments with keys from outside the database: AES-256-GCM (NIST SP 800-38D).

The key's id is stored with each text, so keys can be rotated: put a new one in, make it the active one, and take the
old one out when nothing is left that it has to open.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import ApprovalStoreError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX: Final = "aes256gcm:"
_KEY_ID: Final = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_NONCE_BYTES: Final = 12


class PayloadCipher:
    """Seals and opens payloads. Thread-safe.

    Args:
        keys: 32 random bytes each, by id (letters, digits, ``_``, ``.``, ``-``).
        active: the id of the key that seals.

    Raises:
        ConfigurationError: a key has another length, an id is not one, `active` is missing, or the extra is.
    """

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an optional dependency
        except ImportError as missing:
            raise ConfigurationError("encryption needs cryptography: pip install 'aioc-opa[approvals]'") from missing
        for key_id, key in keys.items():
            if _KEY_ID.match(key_id) is None:
                raise ConfigurationError("the id of a payload key is 1 to 64 letters, digits, '_', '.' or '-'")
            if len(key) != 32:  # noqa: PLR2004 - AES-256
                raise ConfigurationError(f"the payload key {key_id!r} needs 32 bytes and has {len(key)}")
        if active not in keys:
            raise ConfigurationError("the active payload key is not among the keys")
        self._active = active
        self._keys = {key_id: AESGCM(key) for key_id, key in keys.items()}

    def seal(self, payload: str, *, place: str) -> str:
        """Encrypt `payload` so that it opens only in this place.

        Args:
            payload: any text.
            place: what the text belongs to; authenticated, not stored.
        """
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._keys[self._active].encrypt(nonce, payload.encode(), place.encode())
        return f"{_PREFIX}{self._active}:{base64.b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, place: str) -> str:
        """Decrypt what `seal` has written.

        Raises:
            ApprovalStoreError: it is not sealed, by a key that is not here, for another place, or was changed.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an optional dependency

        if not is_sealed(sealed):
            raise ApprovalStoreError("stored arguments are not encrypted, and this store reads only encrypted ones")
        key_id, _, text = sealed.removeprefix(_PREFIX).partition(":")
        key = self._keys.get(key_id)
        if key is None:
            raise ApprovalStoreError("stored arguments are encrypted with a key that is not here")
        try:
            both = base64.b64decode(text, validate=True)
            return key.decrypt(both[:_NONCE_BYTES], both[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError):
            raise ApprovalStoreError("stored arguments do not open: another key, another approval, or edited") from None


def is_sealed(payload: str) -> bool:
    """Whether a stored payload is encrypted; a plain one is a JSON object."""
    return payload.startswith(_PREFIX)
