"""`resume`: from an approval's id to the call that was approved, judged once more (design 3.5).

The call comes from the store, the principal from the authenticated caller, the run context is fetched anew. A grant
executes nothing: the arguments are decoded and parsed again, hashes and every binding compared, policy is asked again
with the evidence, and only its ``allow`` gives a permit.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.approvals.refused_state import reason_of_state
from aioc_opa.arrival import Arrival, arrive
from aioc_opa.call_request import CallRequest, ResumeOptions, SurroundingsError, check_options
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.policy_question import approval_text
from aioc_opa.core.public_reasons import APPROVAL_REQUIRED
from aioc_opa.core.reasons import Reason
from aioc_opa.denials import denied, not_authorized
from aioc_opa.guard_core import store_tenant
from aioc_opa.holding import bindings_of
from aioc_opa.judgement import RefusalError
from aioc_opa.models.approval_vote_statement import is_approval_id
from aioc_opa.models.outcome import Denied, Suspended
from aioc_opa.models.principal import Principal
from aioc_opa.models.run_context import RunContext
from aioc_opa.models.stored_call import StoredCall
from aioc_opa.models.suspended_proposal import SuspendedToolProposal

if TYPE_CHECKING:
    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.guard_core import GuardCore
    from aioc_opa.models.approval_bindings import ApprovalBindings
    from aioc_opa.models.decision import PolicyDecision

logger: Final = logging.getLogger("aioc_opa.guard")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedCall:
    """The approval that a call is resumed from, found to fit it in everything but what policy says now.

    Attributes:
        approval_id: of the approval that its execution will consume.
        proposal_hash: what was approved.
        policy_revision: under which it was held.
        evidence_text: JSON text of the evidence for policy.
    """

    approval_id: str
    proposal_hash: str
    policy_revision: str
    evidence_text: str

    def require_same_policy(self, decision: PolicyDecision, policy_revision: str | None) -> None:
        """A policy that now denies wins; else the revision must be the approved one, and allow.

        Raises:
            RefusalError: it is another one, or it holds the call still.
        """
        if decision.decision == "deny":
            return
        if policy_revision != self.policy_revision:
            raise RefusalError(Reason.APPROVAL_BINDING_MISMATCH, "the policy revision has changed since")
        if decision.decision != "allow":
            raise RefusalError(Reason.APPROVAL_BINDING_MISMATCH, "policy asks for more than was approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumingCall:
    """A call on its way from the store back through the pipeline."""

    arrival: Arrival
    record: ApprovalRecord
    broker: ApprovalBroker

    def resumed(self) -> ResumedCall | Denied:
        """Verify the approval for the principal as the access gate has bound it. Blocks on the store. Never raises."""
        from aioc_opa.approvals.redemption import GrantRefusedError, evidence_of  # noqa: PLC0415 - it verifies signatures: an optional dependency

        tool = self.arrival.tool
        bound = self.record.bindings
        try:
            if tool is None:
                return not_authorized(Reason.TOOL_NOT_REGISTERED, self.arrival.started)
            bindings = bindings_of(
                tool,
                self.arrival.surroundings,
                proposal_hash=bound.proposal_hash,
                policy_revision=bound.policy_revision,
                terms=bound.terms_digest,
            )
            text = approval_text(evidence_of(self.record, bindings, self.broker))
        except GrantRefusedError as refused:
            logger.warning("denied resume of %s: %s: %s", bound.tool_name, refused.reason, refused.detail)
            return denied(refused.reason, self.arrival.started)
        except Exception as error:  # noqa: BLE001 - a store or a directory that fails, in whatever way
            return _unavailable(error, self.arrival.started)
        return ResumedCall(
            approval_id=self.record.approval_id,
            proposal_hash=bound.proposal_hash,
            policy_revision=bound.policy_revision,
            evidence_text=text,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresumed:
    """A resume, or a wait, that ended before anything was judged again.

    Attributes:
        outcome: what the caller gets.
        approval_id: None where the caller gave what is no id.
        principal: as the access gate knows it, where there is one and it could say.
        about: the call that was held, where it is known; a row of the store may have been edited.
        request_id: of the question that was held, where it is known.
        started: `time.perf_counter()` seconds, when it began.
    """

    outcome: Suspended | Denied
    approval_id: str | None
    principal: Principal | None
    about: ApprovalBindings | SuspendedToolProposal | None
    started: float
    request_id: str | None = None


def look_up(
    approval_id: str, options: ResumeOptions, *, core: GuardCore, deadline: Deadline
) -> ResumingCall | Unresumed:
    """The stored call as an arrival. Blocks on the store.

    Returns:
        What goes through the pipeline; else `Suspended` while nobody has decided, a deny in every other case.

    Raises:
        ConfigurationError: this guard has no approvals.
        TypeError: an option is unknown, as for any function.
    """
    check_options(options, required=None, known=ResumeOptions.__annotations__)
    broker = core.broker()
    started = time.perf_counter()
    bound: Principal | None = options.get("principal")
    record: ApprovalRecord | None = None
    found: ResumingCall | Suspended | Denied
    try:
        bound = core.bound(bound)
        record = broker.store.get(store_tenant(bound), approval_id)
        found = _found(record, options, core=core, deadline=deadline, started=started)
    except SurroundingsError as error:
        logger.warning("denied resume of %s: %s", approval_id, error)
        found = denied(Reason.APPROVAL_BINDING_MISMATCH, started)
    except Exception as error:  # noqa: BLE001 - whatever the store gives or raises
        found = _unavailable(error, started)
    if isinstance(found, ResumingCall):
        return found
    return Unresumed(
        outcome=found,
        approval_id=approval_id if is_approval_id(approval_id) else None,
        principal=bound if type(bound) is Principal else None,
        about=None if record is None else record.bindings,
        started=started,
    )


def _found(
    record: ApprovalRecord | None, options: ResumeOptions, *, core: GuardCore, deadline: Deadline, started: float
) -> ResumingCall | Suspended | Denied:
    if record is None:
        logger.warning("denied resume: there is no such approval in the caller's tenant")
        return denied(Reason.APPROVAL_UNAVAILABLE, started)
    if not _same_principal(record, options.get("principal")):
        logger.warning("denied resume of %s: the call was held for another principal", record.approval_id)
        return denied(Reason.APPROVAL_BINDING_MISMATCH, started)
    if record.state not in {ApprovalState.PENDING, ApprovalState.APPROVED}:
        return denied(reason_of_state(record.state), started)
    if record.payload is None:
        logger.warning("denied resume of %s: its arguments are not kept any more", record.approval_id)
        return denied(Reason.APPROVAL_UNAVAILABLE, started)
    broker = core.broker()
    broker.store.log_access(record.tenant, record.approval_id, "runtime", "resume")
    call = StoredCall.model_validate_json(record.payload, by_alias=True, by_name=False)
    if record.state is ApprovalState.PENDING:
        return _pending(record, call, started)
    arrival = arrive(_request(record, call, options), core.registry, deadline, gated=True)
    if not isinstance(arrival, Arrival):
        return arrival
    arrival.approval_id = record.approval_id
    return ResumingCall(arrival=arrival, record=record, broker=broker)


def _same_principal(record: ApprovalRecord, principal: object) -> bool:
    bound = record.bindings
    if type(principal) is not Principal:
        return principal is None and bound.identity is None
    return (principal.identity, principal.on_behalf_of) == (bound.identity, bound.on_behalf_of)


def _request(record: ApprovalRecord, call: StoredCall, options: ResumeOptions) -> CallRequest:
    bound = record.bindings
    context = options.get("run_context") or RunContext()
    if type(context) is not RunContext or context.run_id not in {None, bound.run_id}:
        raise SurroundingsError("run_context is no RunContext, or is that of another run")
    raw: Any = call.raw_arguments if call.decode_assurance == "raw" else json.loads(call.raw_arguments)
    return CallRequest(
        target=bound.tool_name,
        raw_arguments=raw,
        agent_name=bound.agent_name,
        run_context=context.model_copy(update={"run_id": bound.run_id}),
        turn=call.turn,
        call_id=bound.call_id,
        principal=options.get("principal"),
        run_started_by=bound.run_started_by,
        capability=options.get("capability"),
        provider=options.get("provider"),
        model=options.get("model"),
    )


def _pending(record: ApprovalRecord, call: StoredCall, started: float) -> Suspended:
    bound = record.bindings
    proposal = SuspendedToolProposal(
        timestamp=rfc3339_of_ms(record.created_at_ms),
        run_id=bound.run_id,
        turn=call.turn,
        call_id=bound.call_id,
        agent_name=bound.agent_name,
        proposal_hash=bound.proposal_hash,
        reason=record.reason,
        reasons=record.reasons,
        public_reason=call.public_reason,
        policy_version=call.policy_version,
        policy_revision=bound.policy_revision,
        expires_at=rfc3339_of_ms(record.expires_at_ms),
        approval=record.terms,
        metadata=call.metadata,
        tool_name=bound.tool_name,
        tool_version=bound.tool_version,
        raw_arguments=call.raw_arguments,
        requested_arguments=call.requested_arguments,
        parsed_arguments=json.loads(call.args_canonical_json),
        args_canonical_json=call.args_canonical_json,
    )
    return Suspended(
        code=record.reason,
        reasons=record.reasons,
        public_reason=call.public_reason or APPROVAL_REQUIRED,
        policy_revision=bound.policy_revision,
        duration_ms=(time.perf_counter() - started) * 1000.0,
        proposal=proposal,
        approval_id=record.approval_id,
    )


def _unavailable(error: Exception, started: float) -> Denied:
    logger.error("denied resume: the approval cannot be read (%s)", type(error).__name__)
    return denied(Reason.APPROVAL_UNAVAILABLE, started)
