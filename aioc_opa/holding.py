"""From a call that policy holds to a stored request for approval (design 3.5)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.held_call import HeldCall
from aioc_opa.core.approvals.digests import terms_digest
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.stored_call import StoredCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.call_request import Surroundings
    from aioc_opa.guard_core import Attempt
    from aioc_opa.models.outcome import Denied, Suspended
    from aioc_opa.tool_registry import RegisteredTool

logger: Final = logging.getLogger("aioc_opa.guard")


def bindings_of(
    tool: RegisteredTool, around: Surroundings, *, proposal_hash: str, policy_revision: str, terms: str
) -> ApprovalBindings:
    """What an approval of this call is bound to.

    Raises:
        pydantic.ValidationError: a name is longer than an approval can be bound to.
    """
    who = around.principal
    return ApprovalBindings(
        proposal_hash=proposal_hash,
        run_id=around.run_id,
        call_id=around.call_id,
        agent_name=around.agent_name,
        tool_name=tool.name,
        tool_version=tool.version,
        tool_digest=tool.digest,
        identity=None if who is None else who.identity,
        tenant=None if who is None else who.tenant,
        on_behalf_of=None if who is None else who.on_behalf_of,
        run_started_by=around.run_started_by,
        policy_revision=policy_revision,
        terms_digest=terms,
    )


def hold(
    attempt: Attempt, suspended: Suspended, broker: ApprovalBroker, *, made: Callable[[str], None] | None = None
) -> Suspended | Denied:
    """Store the request of a held call. Blocks on the store. Never raises: what goes wrong is a deny.

    Args:
        attempt: the call.
        suspended: what policy says of it.
        broker: stores the request.
        made: told the id of a request that was not there before.

    Returns:
        `suspended` with the approval's id; or a deny, when nobody could ever approve this.
    """
    try:
        return _held(attempt, suspended, broker, made)
    except Exception as error:  # noqa: BLE001 - a store, a directory or a name that fails, in whatever way
        logger.error("denied %s: no approval can be asked for (%s)", attempt.tool.name, _words(error))  # noqa: TRY400 - no values
        return _refused(attempt, suspended, Reason.APPROVAL_UNAVAILABLE)


def _held(
    attempt: Attempt, suspended: Suspended, broker: ApprovalBroker, made: Callable[[str], None] | None
) -> Suspended | Denied:
    proposal, prepared = suspended.proposal, attempt.prepared
    if suspended.policy_revision is None:
        logger.error("denied %s: the engine names no policy revision, so no approval can be bound", attempt.tool.name)
        return _refused(attempt, suspended, Reason.APPROVAL_UNAVAILABLE)
    held = HeldCall(
        bindings=bindings_of(
            attempt.tool,
            attempt.surroundings,
            proposal_hash=proposal.proposal_hash,
            policy_revision=suspended.policy_revision,
            terms=terms_digest(proposal.approval),
        ),
        terms=proposal.approval,
        reason=proposal.reason,
        reasons=proposal.reasons,
        call=StoredCall(
            raw_arguments=prepared.raw_arguments,
            decode_assurance=prepared.decode_assurance,
            requested_arguments=prepared.requested_arguments,
            args_canonical_json=prepared.args_canonical_json,
            turn=proposal.turn,
            tool_description=attempt.tool.description,
            public_reason=proposal.public_reason,
            policy_version=proposal.policy_version,
            metadata=proposal.metadata,
        ),
    )
    opened = broker.open(held)
    if opened.record is not None and opened.kind in {"opened", "existing"}:
        # From here on the approval's end is what counts for this proposal.
        if made is not None and opened.kind == "opened":
            made(opened.record.approval_id)
        until = rfc3339_of_ms(opened.record.expires_at_ms)
        stored = proposal.model_copy(update={"expires_at": until})
        return replace(suspended, approval_id=opened.record.approval_id, proposal=stored)
    if opened.kind == "rejected":
        return _refused(attempt, suspended, Reason.APPROVAL_REJECTED)
    logger.warning("denied %s: too many approvals are pending (%s)", attempt.tool.name, opened.cap)
    return _refused(attempt, suspended, Reason.APPROVAL_UNAVAILABLE)


def _refused(attempt: Attempt, suspended: Suspended, reason: Reason) -> Denied:
    return denied(
        reason,
        attempt.started,
        question=suspended.question,
        policy_revision=suspended.policy_revision,
        engine=suspended.engine,
    )


def _words(error: Exception) -> str:
    # These two say what an operator has to change, without values; others could hold them.
    if type(error).__name__ in {"UnknownRequesterError", "ApprovalStoreError"}:
        return str(error)
    return type(error).__name__
