"""A notifier with a secret."""

from __future__ import annotations

from typing import Any

from aioc_opa.approvals.webhook import WebhookNotifier
from aioc_opa.approvals.webhook_signature import secret_of_text

SECRET = secret_of_text("whsec_" + "c2VjcmV0LWNhbmFyeS0x" * 2)


def notifier(url: str, **settings: Any) -> WebhookNotifier:
    return WebhookNotifier(url, SECRET, **{"backoff_seconds": 0.01, "max_backoff_seconds": 0.05, **settings})
