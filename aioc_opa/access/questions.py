"""What the gate is asked, and what it answers. Metadata only: no field here could hold an argument or a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aioc_opa.access.budgets import Reservation
    from aioc_opa.core.reasons import Reason
    from aioc_opa.models.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMetadata:
    """What step 1 knows of a registered tool: neither its schema nor its handler.

    Attributes:
        name: the registered name.
        version: as registered.
        cost: cost units of one call, 1 to 16.
    """

    name: str
    version: str | None = None
    cost: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuestion:
    """May this caller use this tool at all? The gate checks every value again.

    Attributes:
        tool_name: as called, of whatever type: it is the model's. Only its digest leaves the gate when it is unknown.
        registered: the tool of that name; None when there is none.
        run_id: the application's, else made by the guard.
        run_id_given: whether `run_id` is the application's. Limits per run count for nothing on a run id that is made
            for each call, so with such limits a call without one is refused.
        call_id: the provider's, else made by the guard.
        request_id: 32 hexadecimal digits, random, one a question.
        principal: the authenticated caller.
        capability: of the application, set by it and not by the model.
        provider: the model's provider.
        model: the model's name.
    """

    tool_name: object
    registered: ToolMetadata | None
    run_id: str
    run_id_given: bool
    call_id: str
    request_id: str
    principal: Principal | None
    capability: str | None = None
    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessGranted:
    """The caller may go on to the arguments. It is no allow: step 5 still decides.

    Attributes:
        principal: the caller as bound: tenant from the binding, or none for an identity without one. What follows
            should judge this one.
        reservation: what was reserved of the budgets; release it if, and only if, the handler is never entered.
    """

    principal: Principal
    reservation: Reservation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRefused:
    """The caller may not use the tool.

    Attributes:
        reason: for the audit: ``tool_not_authorized``, ``tool_not_registered``, ``budget_exceeded``,
            ``access_deadline_exceeded`` or ``approval_timed_out``. A caller sees ``tool_not_authorized``, or
            ``approval_timed_out``.
        detail_code: stable code of what refused, for operators: one of `access.details.Detail`, a reserved ``policy_*``
            reason, or the adapter's own.
    """

    reason: Reason
    detail_code: str
