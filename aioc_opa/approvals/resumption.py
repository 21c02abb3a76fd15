"""What an application gives `aioc-opa approvals resume`: the guard with the tool, and who the call is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aioc_opa.async_guard import AsyncToolGuard
    from aioc_opa.guard import ToolGuard
    from aioc_opa.models.principal import Principal
    from aioc_opa.models.run_context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """Returned by the factory that ``--app MODULE:FACTORY`` names; it is called with the `ApprovalRecord`.

    Attributes:
        guard: has the tool registered, and the same approvals.
        principal: of the caller, as the application authenticates it now; not copied from the record.
        run_context: of the run, fetched anew.
        capability: as for the call, where the application gave one.
        provider: likewise.
        model: likewise.
    """

    guard: ToolGuard | AsyncToolGuard
    principal: Principal | None
    run_context: RunContext | None = None
    capability: str | None = None
    provider: str | None = None
    model: str | None = None
