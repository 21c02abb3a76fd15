"""A `Notifier` that posts each notice to one address, signed (Standard Webhooks 1.0.0).

No argument values leave unless `arguments=True`. What the log has of a delivery: the origin, the id, the status or the
class of the error; never the path, the body, a secret or an error's text.
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from typing import TYPE_CHECKING, Final, Self

from aioc_opa.approvals.dispatcher import BackgroundDispatcher, DeliveryCounts, GivenUpError
from aioc_opa.approvals.notifications import DEFAULT_CAPACITY
from aioc_opa.approvals.webhook_request import Answered, Attempt, check_url
from aioc_opa.approvals.webhook_signature import check_secret, signature_header
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.approval_notice import ApprovalNotice, ApprovalNoticeMessage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from aioc_opa.approvals.notifications import NoticeKind

_log: Final = logging.getLogger("aioc_opa.approvals")
_random: Final = secrets.SystemRandom()

_TOO_MANY_REQUESTS: Final = 429
_MAX_ATTEMPTS: Final = 100


class WebhookNotifier:
    """Posts notices in the background; the caller never waits, and nothing is raised at it.

    Tried again, with the same ``webhook-id`` and a new timestamp: no connection, no answer in time, 429 and 5xx. Done
    with: 2xx, and any other status, redirects included ("Delivery success and failure": 3xx is a failure).

    Args:
        url: https; http to a loopback address only. Redirects are not followed, proxies of the environment not used.
        secret: 24 to 64 random bytes, shared with this receiver alone.
        also_sign_with: secrets that a receiver may still know, while they are being changed.
        arguments: put the parsed arguments into the notices. They can hold personal data; the receiver keeps them then.
        attempts: in all, 1 to 100.
        backoff_seconds: before the second attempt; doubled each time, and a random part of up to half taken off.
        max_backoff_seconds: the longest; ``Retry-After`` is followed up to here too.
        timeout_seconds: the total of one attempt.
        ca_file: certificates of authorities to trust instead of the system's.
        capacity: notices waiting at once; what comes on top is dropped and counted.

    Raises:
        ConfigurationError: one of them cannot work.
    """

    def __init__(
        self,
        url: str,
        secret: bytes,
        *,
        also_sign_with: Sequence[bytes] = (),
        arguments: bool = False,
        attempts: int = 6,
        backoff_seconds: float = 1.0,
        max_backoff_seconds: float = 300.0,
        timeout_seconds: float = 15.0,
        ca_file: Path | str | None = None,
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        if not 1 <= attempts <= _MAX_ATTEMPTS:
            raise ConfigurationError(f"attempts must be 1 to {_MAX_ATTEMPTS}")
        if not (0 < timeout_seconds < math.inf and 0 <= backoff_seconds <= max_backoff_seconds < math.inf):
            raise ConfigurationError("a webhook's times are finite, and its backoff at most max_backoff_seconds")
        if capacity < 1:
            raise ConfigurationError("capacity must be at least 1")
        self._origin: Final = check_url(url)
        self._url: Final = url
        self._secrets: Final = tuple(check_secret(one) for one in (secret, *also_sign_with))
        self.arguments: Final = arguments
        self._attempts: Final = attempts
        self._backoff: Final = backoff_seconds
        self._max_backoff: Final = max_backoff_seconds
        self._timeout: Final = timeout_seconds
        self._ca_file: Final = ca_file
        self._dispatcher: Final = BackgroundDispatcher(self._deliver, capacity=capacity, name="aioc-opa-webhook")

    def approval_requested(self, notice: ApprovalNotice) -> None:
        """Queue a ``tool.approval.requested``."""
        self._submit("tool.approval.requested", notice)

    def approval_decided(self, notice: ApprovalNotice) -> None:
        """Queue a ``tool.approval.decided``."""
        self._submit("tool.approval.decided", notice)

    @property
    def counts(self) -> DeliveryCounts:
        """What became of the notices so far, in this process."""
        return self._dispatcher.counts

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Take no more, and give what waits so long to get through; False when something was dropped for it."""
        return self._dispatcher.close(timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _submit(self, kind: NoticeKind, notice: ApprovalNotice) -> None:
        if not self.arguments:  # whoever made the notice: they do not even wait in our memory
            notice = notice.model_copy(update={"args_canonical_json": None, "arguments_omitted": None})
        self._dispatcher.submit((kind, notice))

    def _deliver(self, item: tuple[NoticeKind, ApprovalNotice], attempt: int) -> float | None:
        """One attempt; seconds until the next, or None when it got through."""
        kind, notice = item
        message = ApprovalNoticeMessage(type=kind, timestamp=notice.at, data=notice)
        body = canonical_text(message.model_dump(mode="json", by_alias=True, exclude_none=True)).encode()
        # One for an event: an approval enters a state once. Two processes that tell of it are one event to a receiver.
        webhook_id = f"{notice.approval_id}_{kind.rpartition('.')[2]}_{notice.state.value}"
        timestamp = int(time.time())
        signature = signature_header(self._secrets, webhook_id=webhook_id, timestamp=timestamp, body=body)
        outcome = Attempt(
            self._url,
            headers={
                "Content-Type": "application/json",
                "User-Agent": "aioc-opa",
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                "Connection": "close",
                "webhook-id": webhook_id,
                "webhook-timestamp": str(timestamp),
                "webhook-signature": signature,
            },
            body=body,
            timeout_seconds=self._timeout,
            ca_file=self._ca_file,
        ).run()
        status = outcome.status if isinstance(outcome, Answered) else None
        if status is not None and 200 <= status < 300:  # noqa: PLR2004 - 2xx
            return None
        said = outcome if isinstance(outcome, str) else f"status {outcome.status}"
        transient = status is None or status == _TOO_MANY_REQUESTS or status >= 500  # noqa: PLR2004 - 5xx
        if not transient or attempt >= self._attempts:
            _log.error("webhook %s to %s: %s: given up at attempt %d", webhook_id, self._origin, said, attempt)
            raise GivenUpError
        _log.warning("webhook %s to %s: %s at attempt %d: again later", webhook_id, self._origin, said, attempt)
        return self._pause(attempt, outcome.retry_after if isinstance(outcome, Answered) else None)

    def _pause(self, attempt: int, retry_after: str | None) -> float:
        pause = min(self._backoff * 2.0 ** (attempt - 1), self._max_backoff)
        pause *= _random.uniform(0.5, 1.0)
        if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
            pause = max(pause, float(min(int(retry_after[:9]), int(self._max_backoff))))
        return pause
