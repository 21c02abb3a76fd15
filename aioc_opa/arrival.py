"""Step 1 of a call, the guard's part: what surrounds it is checked, and the access gate is asked (design 2).

Nothing here looks at an argument. What the gate gets is built from checked names and the principal alone; there is no
field through which anything else could reach it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from aioc_opa.access.questions import AccessGranted, AccessQuestion, AccessRefused, ToolMetadata
from aioc_opa.call_request import problem_of
from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied, not_authorized

if TYPE_CHECKING:
    from aioc_opa.access.budgets import Reservation
    from aioc_opa.call_request import CallRequest, Surroundings
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.models.outcome import Denied
    from aioc_opa.tool_registry import RegisteredTool, ToolRegistry

logger: Final = logging.getLogger("aioc_opa.guard")


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A call whose surroundings are sound, before anything has looked at its arguments.

    Attributes:
        tool: None when no tool of the name is registered: the gate refuses it like a forbidden one.
        reservation: what the gate took from budgets; given back if the handler is never entered.
        approval_id: of the approval that the call is resumed from.
    """

    request: CallRequest
    surroundings: Surroundings
    tool: RegisteredTool | None
    deadline: Deadline
    started: float
    reservation: Reservation | None = None
    approval_id: str | None = None


def arrive(request: CallRequest, registry: ToolRegistry, deadline: Deadline, *, gated: bool) -> Arrival | Denied:
    """Check what surrounds a call.

    Args:
        request: as the application gave it.
        registry: the guard's tools.
        deadline: of the whole decision.
        gated: whether an access gate will be asked; without one, a tool that is not registered ends here.
    """
    started = time.perf_counter()
    tool = registry.find(request.target)
    if tool is None and not gated:
        log_unregistered(request.target, registry)
        return not_authorized(Reason.TOOL_NOT_REGISTERED, started)
    try:
        around = request.surroundings()
    except Exception as error:  # noqa: BLE001 - names, context or principal of whatever kind
        name = "a call" if tool is None else tool.name
        logger.warning("denied %s: %s: %s", name, Reason.POLICY_INPUT_INVALID, problem_of(error))
        return denied(Reason.POLICY_INPUT_INVALID, started)
    return Arrival(request=request, surroundings=around, tool=tool, deadline=deadline, started=started)


def access_question(arrival: Arrival) -> AccessQuestion:
    """What the gate is asked about `arrival`."""
    around, tool = arrival.surroundings, arrival.tool
    return AccessQuestion(
        tool_name=arrival.request.target,
        registered=None if tool is None else metadata_of(tool),
        run_id=around.run_id,
        run_id_given=around.run_id_given,
        call_id=around.call_id,
        request_id=around.request_id,
        principal=around.principal,
        capability=around.capability,
        provider=around.provider,
        model=around.model,
    )


def metadata_of(tool: RegisteredTool) -> ToolMetadata:
    """What step 1 may know of a tool."""
    return ToolMetadata(name=tool.name, version=tool.version, cost=tool.cost)


def admitted(arrival: Arrival, verdict: object, registry: ToolRegistry) -> Arrival | Denied:
    """`arrival` with its reservation and the principal as bound, when the gate grants access; else the deny.

    Anything that is no grant of the gate's own type is a deny, an exception that it raised too.
    """
    if type(verdict) is AccessGranted and arrival.tool is not None:
        arrival.reservation = verdict.reservation
        # The tenant is the binding's, and an identity without a binding has none: what follows judges that principal.
        arrival.surroundings.principal = verdict.principal
        return arrival
    if type(verdict) is not AccessRefused:
        logger.error("denied: the access gate gave or raised %s", type(verdict).__name__)
        return not_authorized(Reason.TOOL_NOT_AUTHORIZED, arrival.started)
    if arrival.tool is None:
        log_unregistered(arrival.request.target, registry)
        return not_authorized(Reason.TOOL_NOT_REGISTERED, arrival.started)
    logger.warning("denied %s: %s (%s)", arrival.tool.name, verdict.reason, verdict.detail_code)
    if verdict.reason is Reason.APPROVAL_TIMED_OUT:
        return denied(Reason.APPROVAL_TIMED_OUT, arrival.started, stage="access")
    return not_authorized(verdict.reason, arrival.started)


def log_unregistered(target: object, registry: ToolRegistry) -> None:
    """For operators: the name is the model's, so its digest only."""
    name = target if type(target) is str else ""
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
    known = ", ".join(registry.names()[:20]) or "none"
    logger.warning("denied: %s (name sha256 %s…; registered: %s)", Reason.TOOL_NOT_REGISTERED, digest, known)


def give_back(reservation: Reservation | None) -> None:
    """Return what was reserved for a call whose handler was never entered. Never raises."""
    if reservation is not None:
        reservation.release()
