"""Makes one event of the audit log. Never raises: what cannot be written as an event is an alarm."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.audit.labels import tool_label
from aioc_opa.models.audit_event import AuditEvent

if TYPE_CHECKING:
    from aioc_opa.models.audit_event import AuditKind
    from aioc_opa.models.principal import Principal
    from aioc_opa.tool_registry import RegisteredTool

logger: Final = logging.getLogger("aioc_opa.audit")


def event_of(kind: AuditKind, *, principal: Principal | None = None, **facts: Any) -> AuditEvent | None:
    """An event of now.

    Args:
        kind: what happened.
        principal: whose identity and tenant it names.
        **facts: other attributes of `AuditEvent`.

    Returns:
        None when the facts do not fit an event; the log `aioc_opa.audit` says which kind, and never a value.
    """
    try:
        return AuditEvent(
            kind=kind,
            at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
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
