"""What every approval store offers. Each method is one atomic, durable step; a store decides nothing about policy.

Whoever can write to the database can change what a store says; nobody gets a permit by that: what counts are signed
votes, checked against bindings that the guard makes itself (`approvals.votes`). What a store must be trusted for is
that a thing is done once, and that is what the contract suite is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from aioc_opa.approvals.records import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from aioc_opa.approvals.records import (
        AccessEntry,
        ApprovalRecord,
        EffectIntent,
        EffectOutcome,
        Moved,
        NewApproval,
        Opened,
        PendingCaps,
        UnfinishedEffect,
    )
    from aioc_opa.core.approvals.states import ApprovalEvent, ApprovalState
    from aioc_opa.models.approval_vote_statement import SignedVote


@runtime_checkable
class ApprovalStore(Protocol):
    """Thread-safe. Every method can raise `aioc_opa.errors.ApprovalStoreError`.

    None repeats by itself a step that may have happened. Every method takes a tenant, and sees nothing of any other:
    an approval of another tenant does not exist.

    An expiry that was seen once stays: whichever method finds that an open approval's time is over keeps that as its
    end, so that a clock that steps back (another server's after a failover, say) gives it no time again.
    """

    @property
    def name(self) -> str:
        """``"memory"``, ``"sqlite"`` or ``"postgresql"``, for people."""
        ...

    def now_ms(self) -> int:
        """The server's clock, milliseconds since 1970: the one that expiries are compared with."""
        ...

    def open(self, new: NewApproval, caps: PendingCaps) -> Opened:
        """Store a request, unless the same is open, was rejected in this run, or a cap is reached.

        In this order:

        1. the same proposal hash was rejected in this tenant and run: ``rejected``;
        2. an open approval of the same tenant and equal bindings: ``existing``;
        3. caps, counting what is pending and not expired: ``full``;
        4. ``opened``, expiring ``ttlSeconds`` after the store's now.

        A rejection is one of the hash in the run: from then on every other open approval of the same tenant, run and
        proposal hash stands as rejected too, for every method; no open, vote or use gets in between.
        """
        ...

    def get(self, tenant: str, approval_id: str, *, payload: bool = True) -> ApprovalRecord | None:
        """One approval with its votes; None when this tenant has none of this id.

        Args:
            tenant: of the call.
            approval_id: which one.
            payload: with its arguments; without, nothing that is encrypted is opened, so no key is needed.
        """
        ...

    def find(
        self,
        tenant: str | None,
        states: Collection[ApprovalState],
        limit: int,
        *,
        unreadable: Callable[[str], None] | None = None,
    ) -> Sequence[ApprovalRecord]:
        """Approvals without payload, oldest first; `tenant` None for an operator who may see all.

        Any `limit` is taken: none below zero, and one that is too large for the database as the largest. An account
        that may only read can list: an expiry that it sees is then not kept.

        Args:
            tenant: whose; see above.
            states: which ones.
            limit: at most so many.
            unreadable: is told the id of each row that cannot be read, or its place in the table where the id is none;
                without it, one such row fails the whole list.

        Raises:
            ApprovalStoreError: the store cannot be used, or a row cannot be read and `unreadable` is None.
        """
        ...

    def vote(
        self,
        tenant: str,
        approval_id: str,
        vote: SignedVote,
        effect: Callable[[ApprovalRecord], ApprovalEvent | None],
    ) -> Moved:
        """Add a vote to a pending approval, and move it by what `effect` says of the record with the vote in it.

        The vote is kept only if the approval is still pending then. `effect` is called inside the step, must not
        use the store, and may raise: then nothing is changed and its exception passes through.

        A rejection says which other open requests of the call it has ended (`Moved.with_it`).
        """
        ...

    def end(self, tenant: str, approval_id: str, event: ApprovalEvent, by: str, reason: str) -> Moved:
        """Move by EXPIRE, DISMISS or REVOKE, with who and why. EXPIRE needs no passed expiry: a wait has run out.

        That it ended is an insert-only record, like a consumption: a row that is put back changes nothing. Of an end
        and a use at once exactly one wins.

        The record comes without payload: arguments that cannot be decrypted must not keep anybody from revoking.

        Raises:
            ValueError: another event.
        """
        ...

    def intend(self, intent: EffectIntent) -> None:
        """Write an intent; it is on disk when this returns."""
        ...

    def consume(self, intent: EffectIntent) -> Moved:
        """Use up the approval of an intent: approved, neither ended, expired nor consumed; on disk when this returns.

        The records of ends and of consumptions are insert-only: a row that is put back to approved while one stands is
        refused, and so is one whose hash, or the intent's, was rejected in its run.
        The record comes without payload. An intent that was not written is an `ApprovalStoreError`.
        """
        ...

    def claim(self, intent: EffectIntent) -> bool:
        """Claim (tenant, run, call) for a tool marked ``once``; False when it was claimed before. On disk likewise."""
        ...

    def finish(self, intent: EffectIntent, outcome: EffectOutcome) -> None:
        """Write how the effect ended, and complete (or lose, for ``unknown``) the approval of the intent."""
        ...

    def unfinished(self, tenant: str | None, before_ms: int) -> Sequence[UnfinishedEffect]:
        """Intents older than `before_ms` (the store's clock) that have no end, oldest first."""
        ...

    def log_access(self, tenant: str, approval_id: str, who: str, action: str) -> None:
        """Note that `who` is about to see stored arguments."""
        ...

    def access_log(self, tenant: str | None, approval_id: str | None) -> Sequence[AccessEntry]:
        """Who has seen what, oldest first."""
        ...

    def purge_payloads(self, tenant: str | None, ended_before_ms: int, *, by: str = RUNTIME) -> int:
        """Retention: remove the stored arguments of approvals that ended before; returns how many. The rest stays.

        In the same step the access log gets an entry ``purge`` of `by` for each.
        """
        ...

    def erase(self, tenant: str, approval_id: str, *, by: str = RUNTIME) -> bool:
        """Deletion on request: remove the stored arguments of one approval now; an open one is dismissed first.

        In the same step the access log gets an entry ``erase`` of `by`.
        """
        ...

    def close(self) -> None:
        """Release what the store holds. Later calls raise `ApprovalStoreError`."""
        ...
