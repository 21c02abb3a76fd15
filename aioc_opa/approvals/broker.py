"""`ApprovalBroker`: between a guard that holds calls and the people who decide about them (design 3.5).

The broker never runs anything and never decides what policy should. A guard opens requests here and, at `resume`,
asks for the evidence of one; people cast signed votes here, or end what is open.
"""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.approval_audit import ApprovalAudit
from aioc_opa.approvals.ballot import check_vote, require_may_end
from aioc_opa.approvals.bounded_notices import BoundedNotices
from aioc_opa.approvals.custody import Custody
from aioc_opa.approvals.notifications import notice_of, wants_arguments
from aioc_opa.approvals.records import NO_TENANT, Moved, NewApproval, Opened, PendingCaps
from aioc_opa.approvals.requesters import UnknownRequesterError, requesters_of
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent, ApprovalState, next_state
from aioc_opa.core.approvals.tally import tally
from aioc_opa.errors import ApprovalNotFoundError, VoteRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from aioc_opa.approvals.approval_audit import Trail
    from aioc_opa.approvals.held_call import HeldCall
    from aioc_opa.approvals.keys import VoteKeys
    from aioc_opa.approvals.notifications import Notifier
    from aioc_opa.approvals.people import PeopleDirectory, Person
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.approvals.store import ApprovalStore
    from aioc_opa.models.approval_vote_statement import SignedVote

logger: Final = logging.getLogger("aioc_opa.approvals")

DEFAULT_POLL_SECONDS: Final = 0.5


class ApprovalBroker(Custody):
    """Opens, shows, votes on and ends approvals. Thread-safe, as its store is.

    Args:
        store: where approvals are kept.
        keys: the public keys whose votes count. No private key comes here.
        people: who is who; decides which person an account or an identity is.
        caps: how many requests may be pending at once.
        notifier: is told of new and decided requests, from a thread of its own; one that hangs is not waited for.
        audit: an `AuditTrail` that gets an event of every vote and of every request that has ended. When it is
            ``required``, what a person does is recorded before it is done, or refused with ``audit_unavailable``.
        poll_seconds: how often a waiting call looks, seconds.
    """

    def __init__(
        self,
        store: ApprovalStore,
        *,
        keys: VoteKeys,
        people: PeopleDirectory,
        caps: PendingCaps | None = None,
        notifier: Notifier | None = None,
        audit: Trail | None = None,
        poll_seconds: float = DEFAULT_POLL_SECONDS,
    ) -> None:
        self.store = store
        self.keys: Final = keys
        self.people: Final = people
        self.poll_seconds: Final = poll_seconds
        self._caps = PendingCaps() if caps is None else caps
        self._notifier = notifier
        self._notices = None if notifier is None else BoundedNotices(notifier)
        self._audit = ApprovalAudit(audit)

    def open(self, held: HeldCall) -> Opened:
        """Store a request for a held call, or find the open one of the same call.

        Raises:
            UnknownRequesterError: separation of duties is asked for, and nobody can tell who the requesters are.
            ApprovalStoreError: the store cannot be used.
        """
        new = NewApproval(
            approval_id="apr_" + os.urandom(16).hex(),
            tenant=held.bindings.tenant or NO_TENANT,
            bindings=held.bindings,
            terms=held.terms,
            requesters=self._requesters(held),
            reason=held.reason,
            reasons=held.reasons,
            payload=json.dumps(held.call.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False),
        )
        opened = self.store.open(new, self._caps)
        if opened.kind == "opened" and opened.record is not None:
            self._notify(opened.record)
        return opened

    def find(
        self, tenant: str | None, states: Collection[ApprovalState] = OPEN, limit: int = 100
    ) -> Sequence[ApprovalRecord]:
        """Approvals without their arguments, oldest first.

        Args:
            tenant: `records.NO_TENANT` for calls without one; None for an operator who may see all.
            states: which ones.
            limit: at most so many.
        """
        return self.store.find(tenant, states, limit)

    def show(self, tenant: str, approval_id: str, *, who: str) -> ApprovalRecord:
        """One approval with its arguments. That `who` looked is logged before they are read.

        Raises:
            ApprovalNotFoundError: there is none in this tenant.
        """
        self._found(tenant, approval_id)
        self.store.log_access(tenant, approval_id, who, "show")
        return self._found(tenant, approval_id, payload=True)

    def cast(self, tenant: str, approval_id: str, vote: SignedVote) -> ApprovalRecord:
        """Count a signed vote.

        Returns:
            The approval as the vote left it.

        Raises:
            ApprovalNotFoundError: there is none in this tenant.
            VoteRefusedError: the vote changes nothing; says why.
            ApprovalStoreError: the store cannot be used; whether the vote was kept is not known.
        """
        record = self._found(tenant, approval_id)
        if record.state is not ApprovalState.PENDING:
            raise VoteRefusedError("not_pending", f"this approval is {record.state} already: the vote changes nothing")
        # Outside the store's step: the directory may be slow, or somebody else's.
        requesters = self._requesters_now(record)
        *_, cast = check_vote(record, vote, keys=self.keys, people=self.people, requesters=requesters)
        self._audit.intend(cast.person_id, cast.verdict, of=record)

        def effect(with_vote: ApprovalRecord) -> ApprovalEvent | None:
            votes = check_vote(with_vote, vote, keys=self.keys, people=self.people, requesters=requesters, counted=True)
            return tally(with_vote.terms, votes, requesters=requesters)

        moved = self.store.vote(tenant, approval_id, vote, effect)
        if moved.record is None:
            raise ApprovalNotFoundError("no such approval")
        if not any(kept.signature == vote.signature for kept in moved.record.votes):
            raise VoteRefusedError("not_pending", f"this approval is {moved.record.state} already: too late")
        self._audit.voted(moved.record, vote)
        if moved.record.state is not ApprovalState.PENDING:
            self._ended_or_decided(moved.record)
        for other in moved.with_it:
            self._ended_or_decided(other, votes=(vote,))
        return moved.record

    def revoke(self, tenant: str, approval_id: str, *, by: Person, reason: str) -> ApprovalRecord:
        """Take an approval back, by somebody who could have voted on it.

        Raises:
            ApprovalNotFoundError: there is none in this tenant.
            VoteRefusedError: it is not approved (any more), or `by` may not.
        """
        return self._ended(tenant, approval_id, ApprovalEvent.REVOKE, by=by, reason=reason)

    def dismiss(self, tenant: str, approval_id: str, *, by: Person, reason: str) -> ApprovalRecord:
        """End a request that nobody needs any more.

        Raises:
            ApprovalNotFoundError: there is none in this tenant.
            VoteRefusedError: it has ended already, or `by` may not.
        """
        return self._ended(tenant, approval_id, ApprovalEvent.DISMISS, by=by, reason=reason)

    def give_up(self, tenant: str, approval_id: str, event: ApprovalEvent, reason: str) -> Moved:
        """End a request for the waiting call itself: its wait ran out (EXPIRE) or was cancelled (DISMISS)."""
        moved = self.store.end(tenant, approval_id, event, "runtime", reason)
        if moved.moved and moved.record is not None:
            self._ended_or_decided(moved.record)
        return moved

    def _ended(self, tenant: str, approval_id: str, event: ApprovalEvent, *, by: Person, reason: str) -> ApprovalRecord:
        record = self._found(tenant, approval_id)
        require_may_end(record, by, event)
        if not reason.strip():
            raise VoteRefusedError("reason_missing", "say why: the reason is recorded")
        if next_state(record.state, event) is None:
            raise VoteRefusedError("not_open", f"this approval is {record.state}: nothing was changed")
        self._audit.intend(by.person_id, event.value, of=record)
        moved = self.store.end(tenant, approval_id, event, by.person_id, reason)
        if moved.record is None:
            raise ApprovalNotFoundError("no such approval")
        if not moved.moved:
            raise VoteRefusedError("not_open", f"this approval is {moved.record.state}: nothing was changed")
        self._ended_or_decided(moved.record, by=by.person_id)
        return moved.record

    def _found(self, tenant: str, approval_id: str, *, payload: bool = False) -> ApprovalRecord:
        record = self.store.get(tenant, approval_id, payload=payload)
        if record is None:
            raise ApprovalNotFoundError("no such approval")
        return record

    def _requesters(self, held: HeldCall) -> tuple[str, ...]:
        try:
            return requesters_of(held.bindings, self.people)
        except UnknownRequesterError:
            if held.terms.separation_of_duties:
                raise
            return ()

    def _requesters_now(self, record: ApprovalRecord) -> tuple[str, ...]:
        try:
            return requesters_of(record.bindings, self.people)
        except UnknownRequesterError as error:
            if record.terms.separation_of_duties:
                raise VoteRefusedError("requester_unknown", f"nobody can approve this: {error}") from None
            return ()

    def _ended_or_decided(
        self, record: ApprovalRecord, *, votes: Sequence[SignedVote] | None = None, by: str | None = None
    ) -> None:
        self._audit.moved(record, votes=votes, by=by)
        self._notify(record)

    def _notify(self, record: ApprovalRecord) -> None:
        if self._notifier is None or self._notices is None:
            return
        try:
            self._notices.tell(notice_of(record, arguments=wants_arguments(self._notifier)))
        except Exception as error:  # noqa: BLE001 - telling people is never worth a decision
            logger.error("nobody is told of a request: %s", type(error).__name__)  # noqa: TRY400 - its text can hold anything
