"""What an injected value may be made from: everything about a call but its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call, as the providers of injected context see it.

    Attributes:
        agent_name: the agent that proposed the call.
        tool_name: the tool.
        call_id: given by the application, else made by the guard.
        run_id: likewise.
        turn: turn of the run.
        run_context: as given to the guard.
        principal: as given to the guard.
    """

    agent_name: str
    tool_name: str
    call_id: str
    run_id: str
    turn: int
    run_context: RunContext
    principal: Principal | None
