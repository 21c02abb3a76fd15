"""Makes one event of the audit log. Never raises: what cannot be written as an event is an alarm."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.audit.labels import tool_label
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from aioc_opa.models.audit_event import AuditKind
    from aioc_opa.models.principal import Principal
    from aioc_opa.tool_registry import RegisteredTool

logger: Final = logging.getLogger("aioc_opa.audit")


@dataclass(frozen=True, slots=True)
class UnmadeEvent:
    """The facts of an event, taken now. Whoever writes it makes the event: that is no work for the thread that decides.

    Attributes:
        kind: what happened.
        facts: as for `event_of`; names, codes, ids and times alone, so nothing of a call's arguments waits with it.
        at: seconds since 1970.
    """

    kind: AuditKind
    facts: dict[str, Any] = field(repr=False)
    at: float = field(default_factory=time.time)

    def made(self) -> AuditEvent | None:
        """The event; None when the facts do not fit one, see `event_of`."""
        return event_of(self.kind, at=self.at, **self.facts)


def event_of(
    kind: AuditKind, *, principal: Principal | None = None, at: float | None = None, **facts: Any
) -> AuditEvent | None:
    """An event.

    Args:
        kind: what happened.
        principal: whose identity and tenant it names.
        at: when, seconds since 1970; now without.
        **facts: other attributes of `AuditEvent`.

    Returns:
        None when the facts do not fit an event; the log `aioc_opa.audit` says which kind, and never a value.
    """
    try:
        return AuditEvent(
            kind=kind,
            at=rfc3339_of_ms(int((time.time() if at is None else at) * 1000)),
            identity=None if principal is None else principal.identity,
            tenant=None if principal is None else principal.tenant,
            **facts,
        )
    except ValueError:
        logger.critical("an event of kind %s cannot be written", kind)
        return None


def tool_facts(tool: RegisteredTool | None, called: object) -> dict[str, Any]:
    """What an event says of the tool: name and version as registered, or a digest where there is none."""
    return {
        "tool_name": tool_label(called, registered=tool is not None),
        "tool_version": None if tool is None else tool.version,
    }
