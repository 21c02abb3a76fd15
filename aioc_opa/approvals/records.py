"""What goes into an approval store and what comes out of it. Times are integer milliseconds of the store's clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from aioc_opa.core.approvals.states import ApprovalState
    from aioc_opa.models.approval_bindings import ApprovalBindings
    from aioc_opa.models.approval_vote_statement import SignedVote
    from aioc_opa.models.decision import ApprovalTerms

NO_TENANT = ""
"""How a store writes that a call has no tenant."""

RUNTIME = "runtime"
"""How a store writes that no person did something."""

EffectOutcome = Literal["returned", "raised", "not_entered", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCaps:
    """How many requests may be pending at once: a model cannot wear reviewers down.

    Attributes:
        per_run: of one run.
        per_principal: of one identity in one tenant.
        per_tenant: of one tenant.
    """

    per_run: int = 16
    per_principal: int = 64
    per_tenant: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApproval:
    """A request that is about to be stored.

    Attributes:
        approval_id: ``apr_`` and 32 random hex digits.
        tenant: `NO_TENANT` when the principal has none.
        bindings: what it is bound to.
        terms: what approving it takes.
        requesters: person ids that may not approve under separation of duties.
        reason: primary code of the decision.
        reasons: all its codes.
        payload: JSON text of a `StoredCall`.
    """

    approval_id: str
    tenant: str
    bindings: ApprovalBindings
    terms: ApprovalTerms
    requesters: tuple[str, ...]
    reason: str
    reasons: tuple[str, ...]
    payload: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    """An approval as the store has it. Everything in it may have been edited by whoever can write to the database.

    Attributes:
        state: expired ones say so, whether or not anything has noticed before, and so do open ones whose hash was
            rejected in their run through another request.
        created_at_ms: when it was stored.
        expires_at_ms: `created_at_ms` and the terms' ``ttlSeconds``; it counts strictly before.
        votes: in the order in which they were cast.
        payload: None in lists, and once retention has removed it.
        ended_at_ms: when it left the open states; None before.
        ended_by: person id or a word of the runtime (``runtime``, ``expiry``, ``votes``).
        end_reason: in the words of who ended it.
        outcome: how the effect ended, once it has begun.
    """

    approval_id: str
    tenant: str
    state: ApprovalState
    bindings: ApprovalBindings
    terms: ApprovalTerms
    requesters: tuple[str, ...]
    reason: str
    reasons: tuple[str, ...]
    created_at_ms: int
    expires_at_ms: int
    votes: tuple[SignedVote, ...] = ()
    payload: str | None = field(default=None, repr=False)
    ended_at_ms: int | None = None
    ended_by: str | None = None
    end_reason: str | None = None
    outcome: EffectOutcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What became of a request to open an approval.

    Attributes:
        kind: ``opened`` a new one; ``existing`` the open one of the same call on the same terms;
            ``rejected`` the same hash was rejected in this run; ``full`` a cap is reached.
        record: the new or the existing one; None otherwise.
        cap: which cap is reached: ``run``, ``principal`` or ``tenant``.
    """

    kind: Literal["opened", "existing", "rejected", "full"]
    record: ApprovalRecord | None = None
    cap: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of an event.

    Attributes:
        moved: whether it changed the state.
        record: as it is now; None when there is no such approval in this tenant.
        with_it: open requests of the same call in the same run that a rejection has ended too; without payload.
    """

    moved: bool
    record: ApprovalRecord | None
    with_it: tuple[ApprovalRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectIntent:
    """Written durably before an effect: it may begin from now on.

    Attributes:
        execution_id: 32 random hex digits, one an attempt to run.
        tenant: as in `NewApproval`.
        run_id: of the call.
        call_id: of the call.
        tool_name: of the call.
        proposal_hash: of the call.
        approval_id: the approval to be consumed; None for a call that needs none.
    """

    execution_id: str
    tenant: str
    run_id: str
    call_id: str
    tool_name: str
    proposal_hash: str
    approval_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedEffect:
    """An intent without an end: for an operator to look at.

    Attributes:
        intent: what was to run.
        intended_at_ms: when it was written.
        may_have_run: False when the approval or the claim was never consumed by it, so that the tool cannot have run.
    """

    intent: EffectIntent
    intended_at_ms: int
    may_have_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    """Who looked at the stored arguments of which approval, and what for."""

    approval_id: str
    tenant: str
    who: str
    action: str
    at_ms: int
