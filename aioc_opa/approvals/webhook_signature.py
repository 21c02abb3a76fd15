"""Signatures of webhooks, as Standard Webhooks 1.0.0 has them ("Signature scheme", "Webhook headers").

HMAC-SHA256 over ``id.timestamp.body``, base64 behind ``v1,``, in the header ``webhook-signature``. A receiver calls
`verify_webhook` on the bytes that arrived, before it reads them as JSON.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import ApprovalError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_TOLERANCE_SECONDS: Final = 300.0

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the public prefix of every secret (Standard Webhooks)
_MIN_SECRET_BYTES: Final = 24
_MAX_SECRET_BYTES: Final = 64
# No full stop ("Signature scheme": it would move the borders of what is signed), and nothing that is no text.
_ID: Final = re.compile(r"[\x21-\x2d\x2f-\x7e]{1,256}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_MAX_SIGNATURES: Final = 32


class WebhookVerificationError(ApprovalError):
    """A webhook that must not be believed.

    Attributes:
        code: ``header_missing``, ``header_malformed``, ``timestamp_too_old``, ``timestamp_too_new`` or
            ``signature_mismatch``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedWebhook:
    """A webhook whose signature and time are right.

    Attributes:
        webhook_id: the same at every attempt: a receiver that has seen it answers 200 and does nothing.
        timestamp: of the attempt, seconds since 1970.
        body: the very bytes that were signed; an `ApprovalNoticeMessage`.
    """

    webhook_id: str
    timestamp: int
    body: bytes = field(repr=False)


def check_secret(secret: bytes) -> bytes:
    """The secret, if it is one: 24 to 64 random bytes ("Signature scheme").

    Raises:
        ConfigurationError: it is not.
    """
    if type(secret) is not bytes or not _MIN_SECRET_BYTES <= len(secret) <= _MAX_SECRET_BYTES:
        raise ConfigurationError(f"a webhook secret is {_MIN_SECRET_BYTES} to {_MAX_SECRET_BYTES} random bytes")
    return secret


def secret_of_text(text: str) -> bytes:
    """The secret that ``whsec_`` and base64 stand for, as receivers write it down.

    Raises:
        ConfigurationError: it is not of that form.
    """
    if not text.startswith(_SECRET_PREFIX):
        raise ConfigurationError(f"a webhook secret starts with {_SECRET_PREFIX}")
    try:
        secret = base64.b64decode(text.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigurationError(f"what follows {_SECRET_PREFIX} is not base64") from None
    return check_secret(secret)


def signature_header(secrets: Sequence[bytes], *, webhook_id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``: one signature a secret, so that secrets can be changed without a gap."""
    return " ".join(f"v1,{_signature(secret, webhook_id, str(timestamp), body)}" for secret in secrets)


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: bytes | Sequence[bytes],
    *,
    tolerance_seconds: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> VerifiedWebhook:
    """Check who sent a webhook, and that it is no old one. Signatures are compared in constant time.

    Within the tolerance the same webhook can come again, by a retry or by somebody who recorded it: keep the ids that
    were seen at least twice `tolerance_seconds`.

    Args:
        headers: of the request; names in any case.
        body: the request's bytes, as they came.
        secret: the secret, or several while they are being changed.
        tolerance_seconds: how far the sender's clock may be from ours, either way.
        now: seconds since 1970; the system's clock when left out.

    Raises:
        WebhookVerificationError: do not believe it.
        ConfigurationError: `secret` is none.
    """
    secrets = [check_secret(one) for one in ([secret] if isinstance(secret, bytes) else secret)]
    if not secrets:
        raise ConfigurationError("a webhook cannot be verified without a secret")
    webhook_id = _header(headers, "webhook-id", _ID)
    timestamp = _header(headers, "webhook-timestamp", _TIMESTAMP)
    given = _header(headers, "webhook-signature", None).split(" ")
    if len(given) > _MAX_SIGNATURES:
        raise WebhookVerificationError("header_malformed", "webhook-signature has too many signatures")
    age = (time.time() if now is None else now) - int(timestamp)
    if not age <= tolerance_seconds:  # also when one of them is NaN
        raise WebhookVerificationError("timestamp_too_old", "the webhook was sent too long ago")
    if not -age <= tolerance_seconds:
        raise WebhookVerificationError("timestamp_too_new", "the webhook was sent in the future")
    matched = False
    for one in secrets:
        # The header's own text is signed: what it says and what it means cannot differ.
        expected = f"v1,{_signature(one, webhook_id, timestamp, body)}".encode()
        for signature in given:
            matched |= hmac.compare_digest(expected, signature.encode("utf-8", "surrogatepass"))
    if not matched:
        raise WebhookVerificationError("signature_mismatch", "no signature is of this webhook by a known secret")
    return VerifiedWebhook(webhook_id=webhook_id, timestamp=int(timestamp), body=body)


def _signature(secret: bytes, webhook_id: str, timestamp: str, body: bytes) -> str:
    signed = b"%b.%b.%b" % (webhook_id.encode("ascii"), timestamp.encode("ascii"), body)
    return base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode("ascii")


def _header(headers: Mapping[str, str], name: str, form: re.Pattern[str] | None) -> str:
    values = [value for key, value in headers.items() if key.lower() == name]
    if not values:
        raise WebhookVerificationError("header_missing", f"{name} is missing")
    if len(values) > 1 or type(values[0]) is not str or (form is not None and form.fullmatch(values[0]) is None):
        raise WebhookVerificationError("header_malformed", f"{name} is not what it should be")
    return values[0]
