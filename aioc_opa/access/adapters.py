"""What an application may provide: a policy adapter and an approval adapter (seed "Extension boundary").

Each comes in two kinds, for event loops and for plain code, told apart by the method's name, so that one class can be
both. An adapter gets a request without arguments and must answer in time; whatever else it does is a deny.

An adapter that keeps the deadline by itself may say so with ``keeps_deadlines = True``: it is then asked directly. Any
other is asked in a task or a thread that the gate does not wait for any longer than the deadline.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from aioc_opa.core.reasons import Reason
    from aioc_opa.models.tool_authorization import (
        ToolApprovalRequest,
        ToolApprovalResult,
        ToolAuthorizationRequest,
        ToolAuthorizationResult,
    )


@runtime_checkable
class ToolPolicyAdapter(Protocol):
    """Decides whether an identity may use a tool at all; asked from an event loop."""

    async def authorize(self, request: ToolAuthorizationRequest) -> ToolAuthorizationResult:
        """Answer within ``request.deadline_seconds``. May raise: that is a deny."""
        ...


@runtime_checkable
class SyncToolPolicyAdapter(Protocol):
    """The same for plain code. Thread-safe."""

    def authorize_sync(self, request: ToolAuthorizationRequest) -> ToolAuthorizationResult:
        """As `ToolPolicyAdapter.authorize`."""
        ...


@runtime_checkable
class ToolApprovalAdapter(Protocol):
    """Asks a person, without showing arguments; awaited from an event loop."""

    async def request_approval(self, request: ToolApprovalRequest) -> ToolApprovalResult:
        """Answer before ``request.expires_at``. Cancelled when the caller is: the pending request then ends."""
        ...


@runtime_checkable
class SyncToolApprovalAdapter(Protocol):
    """The same for plain code. Thread-safe."""

    def request_approval_sync(self, request: ToolApprovalRequest) -> ToolApprovalResult:
        """As `ToolApprovalAdapter.request_approval`."""
        ...


class NoAnswerError(Exception):
    """An adapter of this package has no answer; a deny with a reserved reason in its event.

    Attributes:
        reason: one of the reserved ``policy_*`` reasons.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def offers(adapter: object, method: str, *, asynchronous: bool) -> bool:
    """Whether `adapter` has `method`, of the kind that its name promises.

    A coroutine function under the name of the sync method would be taken for an answer, so it is none.
    """
    found = getattr(adapter, method, None)
    return callable(found) and (asynchronous or not inspect.iscoroutinefunction(found))


def keeps_deadlines(adapter: object) -> bool:
    """Whether `adapter` says that it keeps the deadline by itself."""
    return getattr(adapter, "keeps_deadlines", False) is True
