r"""Keyed commitments to single fields of a call's arguments: they can be compared with a value, and not be guessed.

``HMAC-SHA-256(tenant's key, "aioc-opa/field/1\n" || nonce || RFC 8785 text of {"field", "value"})``. The nonce is
random for each, so that equal values do not look alike. Who has the key can say whether a value is the one that was
judged; nobody can get the value back, and the decision cannot be replayed from it.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonValue

NONCE_BYTES: Final = 32
_DOMAIN: Final = b"aioc-opa/field/1\n"


def field_commitment(key: bytes, nonce: bytes, field: str, value: JsonValue) -> str:
    """The commitment to one field's value, 64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: the value has no canonical form.
    """
    text = canonical_text({"field": field, "value": value}).encode()
    return hmac.new(key, _DOMAIN + nonce + text, hashlib.sha256).hexdigest()
