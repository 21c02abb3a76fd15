"""What people are told of an approval: that one waits, and how it went (`aioc_opa.approvals.notifications`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.models.approval_vote_statement import ApprovalId
from aioc_opa.models.decision import Code, Role
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

MAX_NOTICE_ARGUMENTS = 262_144
"""Characters of arguments in a notice. Longer ones are left out whole, never cut: a part would look like the whole."""

Time = Annotated[str, Field(min_length=20, max_length=35)]


class ApprovalNotice(WireModel):
    """One approval, without its arguments unless an application asked for them. It is news, and grants nothing.

    Attributes:
        approval_id: look it up by this; whoever votes reads the action there.
        tenant: None when the call has none.
        run_id: of the call.
        call_id: of the call.
        agent_name: the agent that proposed.
        tool_name: the registered name.
        reason: primary code of the decision that holds the call.
        reasons: all its codes.
        approver_roles: every role of which somebody is asked, sorted.
        state: where the approval is: ``pending`` when it was just requested.
        at: when this was noted, RFC 3339 in UTC, by the clock of the process that tells.
        expires_at: when the approval ends, RFC 3339 in UTC.
        args_canonical_json: RFC 8785 text of the parsed arguments; only where an application configured it.
        arguments_omitted: they were asked for, and are not here: longer than `MAX_NOTICE_ARGUMENTS`, or gone.
    """

    approval_id: ApprovalId
    tenant: Name | None = None
    run_id: str = Field(min_length=1, max_length=256)
    call_id: str = Field(min_length=1, max_length=256)
    agent_name: str = Field(min_length=1, max_length=256)
    tool_name: str = Field(min_length=1, max_length=128)
    reason: Code
    reasons: tuple[Code, ...] = Field(max_length=1024, strict=False)
    approver_roles: tuple[Role, ...] = Field(max_length=256 * 64, strict=False)
    state: ApprovalState
    at: Time
    expires_at: Time
    args_canonical_json: str | None = Field(default=None, max_length=MAX_NOTICE_ARGUMENTS, repr=False)
    arguments_omitted: Literal[True] | None = None


class ApprovalNoticeMessage(WireModel):
    """A notice as it is sent: the body of a webhook, in the structure that Standard Webhooks recommends.

    Attributes:
        type: what happened, in the names of the events (linked contracts, "Events, counters, privacy").
        timestamp: when it happened; the time of the attempt stands in the header.
        data: the notice.
    """

    type: Literal["tool.approval.requested", "tool.approval.decided"]
    timestamp: Time
    data: ApprovalNotice
