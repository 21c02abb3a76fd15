"""What trail and telemetry are told of a resume, or of a wait, that ended before anything was judged again.

A deny is a decision, whoever made it: that somebody tried to use an approval that was used up, was another's or is not
there at all is what an auditor looks for. While nobody has decided, nothing is decided here either: that the proposal
was handed out is in the store's access log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.core.audit.labels import id_label
from aioc_opa.decision_event import event_of, tool_facts
from aioc_opa.guard_telemetry import Watch
from aioc_opa.models.outcome import Denied

if TYPE_CHECKING:
    from aioc_opa.guard_audit import GuardAudit
    from aioc_opa.guard_core import GuardCore
    from aioc_opa.guard_resume import Unresumed
    from aioc_opa.models.audit_event import AuditEvent
    from aioc_opa.models.outcome import Suspended


def told(core: GuardCore, ended: Unresumed) -> Denied | Suspended:
    """The outcome, after a deny was recorded and counted. Never raises; waits for the trail in ``required`` mode."""
    if isinstance(ended.outcome, Denied) and core.audit is not None:
        core.audit.record(_event(core, core.audit, ended, ended.outcome))
    return _watched(core, ended)


async def told_async(core: GuardCore, ended: Unresumed) -> Denied | Suspended:
    """`told`, for coroutines: the event loop goes on meanwhile."""
    if isinstance(ended.outcome, Denied) and core.audit is not None:
        await core.audit.record_async(_event(core, core.audit, ended, ended.outcome))
    return _watched(core, ended)


def _watched(core: GuardCore, ended: Unresumed) -> Denied | Suspended:
    if core.settings.telemetry is None or not isinstance(ended.outcome, Denied):
        return ended.outcome
    with Watch(core.settings.telemetry, core.settings, ended, started=ended.started) as watch:
        return watch.seen(ended.outcome)


def _event(core: GuardCore, audit: GuardAudit, ended: Unresumed, denied: Denied) -> AuditEvent | None:
    return event_of(
        "tool_policy",
        principal=ended.principal,
        request_id=ended.request_id,
        **_of_call(core, audit, ended),
        decision="deny",
        reason=denied.audit_code,
        duration_ms=denied.duration_ms,
        approval_id=ended.approval_id,
    )


def _of_call(core: GuardCore, audit: GuardAudit, ended: Unresumed) -> dict[str, Any]:
    about = ended.about
    if about is None:
        return {}
    tenant = None if ended.principal is None else ended.principal.tenant
    return {
        **tool_facts(core.registry.find(about.tool_name), about.tool_name),
        "run_id": id_label(about.run_id),
        "call_id": id_label(about.call_id),
        "agent_name": id_label(about.agent_name),
        "proposal_ref": audit.trail.proposal_ref(tenant, about.proposal_hash),
    }
