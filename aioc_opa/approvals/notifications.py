"""Telling people that an approval waits, and how it went. A notice decides nothing and nothing waits for it.

`NotificationQueue` lets a notifier of the application's own (mail, chat) take its time; `webhook.WebhookNotifier` has
its queue inside.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self, runtime_checkable

from aioc_opa.approvals.dispatcher import BackgroundDispatcher, DeliveryCounts
from aioc_opa.approvals.records import NO_TENANT
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.models.approval_notice import MAX_NOTICE_ARGUMENTS, ApprovalNotice

if TYPE_CHECKING:
    from types import TracebackType

    from aioc_opa.approvals.records import ApprovalRecord

NoticeKind = Literal["tool.approval.requested", "tool.approval.decided"]

DEFAULT_CAPACITY: Final = 1000


@runtime_checkable
class Notifier(Protocol):
    """Tells somebody. Neither method may block or raise: both are called while a call is being decided.

    A notifier that has the attribute ``arguments = True`` asks for notices with the arguments in them.
    """

    def approval_requested(self, notice: ApprovalNotice) -> None:
        """Somebody has to decide on an approval."""
        ...

    def approval_decided(self, notice: ApprovalNotice) -> None:
        """An approval has left ``pending``, or ended: see its `state`."""
        ...


def wants_arguments(notifier: Notifier) -> bool:
    """Whether the application configured this notifier to be told the arguments: never by default."""
    return getattr(notifier, "arguments", False) is True


def notice_of(record: ApprovalRecord, *, arguments: bool = False) -> ApprovalNotice:
    """The notice of an approval as it is now.

    Args:
        record: from the store.
        arguments: put the parsed arguments in (see `wants_arguments`). They are left out, which the notice says, when
            the record has no payload or they are longer than `MAX_NOTICE_ARGUMENTS`.

    Raises:
        pydantic.ValidationError: somebody edited the record into something that is none.
        ValueError: likewise a time.
    """
    text = _arguments(record) if arguments else None
    bindings = record.bindings
    return ApprovalNotice(
        approval_id=record.approval_id,
        tenant=None if record.tenant == NO_TENANT else record.tenant,
        run_id=bindings.run_id,
        call_id=bindings.call_id,
        agent_name=bindings.agent_name,
        tool_name=bindings.tool_name,
        reason=record.reason,
        reasons=record.reasons,
        approver_roles=tuple(sorted({role for one in record.terms.requirements for role in one.approver_roles})),
        state=record.state,
        at=rfc3339_of_ms(int(time.time() * 1000)),
        expires_at=rfc3339_of_ms(record.expires_at_ms),
        args_canonical_json=text,
        arguments_omitted=True if arguments and text is None else None,
    )


class NotificationQueue:
    """A `Notifier` that hands on to another one from a thread of its own, and never makes the caller wait.

    Args:
        notifier: may block, and may raise: that is counted, and said in the log by the exception's class alone.
        capacity: notices that may wait at once; what comes on top is dropped and counted.
    """

    def __init__(self, notifier: Notifier, *, capacity: int = DEFAULT_CAPACITY) -> None:
        self._notifier: Final = notifier
        self.arguments: Final = wants_arguments(notifier)
        self._dispatcher: Final = BackgroundDispatcher(self._deliver, capacity=capacity, name="aioc-opa-notifications")

    def approval_requested(self, notice: ApprovalNotice) -> None:
        """Queue it."""
        self._dispatcher.submit(("tool.approval.requested", notice))

    def approval_decided(self, notice: ApprovalNotice) -> None:
        """Queue it."""
        self._dispatcher.submit(("tool.approval.decided", notice))

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

    def _deliver(self, item: tuple[NoticeKind, ApprovalNotice], _attempt: int) -> None:
        kind, notice = item
        if kind == "tool.approval.requested":
            self._notifier.approval_requested(notice)
        else:
            self._notifier.approval_decided(notice)


def _arguments(record: ApprovalRecord) -> str | None:
    """From the payload, JSON text of a `StoredCall`; None when it is not there, not that, or too long."""
    if record.payload is None:
        return None
    try:
        call = json.loads(record.payload)
    except (ValueError, RecursionError):
        return None
    text = call.get("argsCanonicalJson") if type(call) is dict else None
    return text if type(text) is str and len(text) <= MAX_NOTICE_ARGUMENTS else None
