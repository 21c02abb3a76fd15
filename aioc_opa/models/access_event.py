"""Events of step 1 (seed "Privacy and audit"; names of Trussium).

Correlation ids, identity, tenant, tool name and version, decision, stable codes and duration; there is no field for
arguments, outputs, credentials, exception texts or a provider's payload.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aioc_opa.models.decision import Code
from aioc_opa.models.principal import Name
from aioc_opa.models.tool_authorization import Instant, Version
from aioc_opa.models.wire import WireModel

EventType = Literal[
    "tool.authorization.requested",
    "tool.authorization.decided",
    "tool.approval.requested",
    "tool.approval.decided",
    "tool.approval.expired",
    "tool.approval.cancelled",
]

Decision = Literal["allow", "deny", "approval_required", "approved", "denied", "expired", "cancelled"]


class AccessEvent(WireModel):
    """One event.

    Attributes:
        type: what happened.
        at: RFC 3339, UTC.
        request_id: of the question; also names its approval request.
        execution_id: the run; a digest when its id is longer than 128 characters.
        call_id: likewise.
        identity: of the principal; absent when there was no usable one.
        tenant_id: of the identity's binding.
        tool_name: the registered name; ``sha256:`` and a digest when no such tool is registered.
        tool_version: as registered.
        decision: absent on ``…requested``.
        reason: ``allowed``, or one of the reserved reasons.
        detail_code: what exactly decided.
        decided_by: who decided an approval, where the adapter says so.
        duration_ms: since the question, or since the approval was asked for; milliseconds.
    """

    type: EventType
    at: Instant
    request_id: Name
    execution_id: Name | None = None
    call_id: Name | None = None
    identity: Name | None = None
    tenant_id: Name | None = None
    tool_name: Name
    tool_version: Version | None = None
    decision: Decision | None = None
    reason: Code | None = None
    detail_code: Code | None = None
    decided_by: Name | None = None
    duration_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
