"""Requests in SQL: opening, reading, voting on and ending them."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select, text

from aioc_opa.approvals.records import Moved, Opened
from aioc_opa.approvals.sql_base import SqlBase, in_chunks
from aioc_opa.approvals.sql_rows import bindings_digest, record_of, row_of
from aioc_opa.approvals.sql_statements import expired_of_call, given, open_of_call, pending, same_open
from aioc_opa.approvals.sql_tables import approvals, records, standing, stored_states, votes
from aioc_opa.approvals.store_steps import ENDING_EVENTS, UndoneError, bounded, full_cap, require_texts, with_vote
from aioc_opa.core.approvals.states import OPEN, ApprovalEvent, ApprovalState, next_state
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.models.approval_vote_statement import is_approval_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from aioc_opa.approvals.records import ApprovalRecord, NewApproval, PendingCaps
    from aioc_opa.models.approval_vote_statement import SignedVote

_NEW: Final = insert(approvals)
_NEW_VOTE: Final = insert(votes)
_TENANT_TURN: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:tenant, 7379))")


class SqlRequests(SqlBase):
    """The first half of an approval's life."""

    def open(self, new: NewApproval, caps: PendingCaps) -> Opened:
        """See `ApprovalStore.open`."""
        require_texts(new.tenant, new.approval_id, new.bindings.run_id, new.bindings.identity, new.reason, new.payload)
        with self._database.begin() as connection:
            if self._dialect == "postgresql":  # one opening at a time in a tenant: caps hold, and equal calls share
                connection.execute(_TENANT_TURN, {"tenant": new.tenant})
            self._lock_call(connection, **_call_of(new))
            if self._was_rejected(connection, **_call_of(new)):
                return Opened(kind="rejected")
            expired = connection.execute(expired_of_call(self._dialect), given(**_call_of(new))).scalars().all()
            self._keep_expiries(connection, expired)
            same = self._same_open(connection, new)
            if same is not None:
                return Opened(kind="existing", record=same)
            cap = self._full(connection, new, caps)
            if cap is not None:
                return Opened(kind="full", cap=cap)
            row = row_of(new, now_ms=self._database.now_ms(connection), cipher=self._cipher)
            connection.execute(_NEW, row)
            return Opened(kind="opened", record=self._read(connection, new.tenant, new.approval_id))

    def get(self, tenant: str, approval_id: str, *, payload: bool = True) -> ApprovalRecord | None:
        """See `ApprovalStore.get`."""
        require_texts(tenant, approval_id)
        with self._database.begin(read_only=True) as connection:
            record = self._read(connection, tenant, approval_id, payload=payload)
            unsaid = self._unsaid(connection, [] if record is None else [record])
        if unsaid:
            with self._database.begin() as connection:
                self._keep_expiries(connection, unsaid)
        return record

    def find(
        self,
        tenant: str | None,
        states: Collection[ApprovalState],
        limit: int,
        *,
        unreadable: Callable[[str], None] | None = None,
    ) -> Sequence[ApprovalRecord]:
        """See `ApprovalStore.find`."""
        require_texts(tenant)
        wanted: list[ColumnElement[bool]] = [standing(self._dialect).in_(sorted(states))]
        if tenant is not None:
            wanted.append(approvals.c.tenant == tenant)
        stored = stored_states(states)
        if stored is not None:
            wanted.append(stored)
        query = records(self._dialect, payload=False).where(*wanted).order_by(approvals.c.seq).limit(bounded(limit))
        try:
            found, unsaid = self._listed(query)
        except ApprovalStoreError:
            if unreadable is None:
                raise
            return self._one_by_one(query, unreadable)
        if unsaid:
            # An auditor's account that may only read can list all the same.
            with suppress(ApprovalStoreError), self._database.begin() as connection:
                self._keep_expiries(connection, unsaid)
        return found

    def _listed(self, query: Select[Any]) -> tuple[list[ApprovalRecord], list[str]]:
        with self._database.begin(read_only=True) as connection:
            rows = connection.execute(query).all()
            cast = self._votes_of(connection, [row.approval_id for row in rows])
            found = [record_of(row, cast[row.approval_id], None) for row in rows]
            return found, self._unsaid(connection, found)

    def _one_by_one(self, query: Select[Any], unreadable: Callable[[str], None]) -> list[ApprovalRecord]:
        """A row that somebody has edited hides none of the others."""
        with self._database.begin(read_only=True) as connection:
            places = connection.execute(query.with_only_columns(approvals.c.seq)).scalars().all()
        found = []
        for place in places:
            this = approvals.c.seq == place
            try:
                found += self._listed(records(self._dialect, payload=False).where(this))[0]
            except ApprovalStoreError:
                unreadable(self._id_at(this) or f"row {place}")
        return found

    def _id_at(self, this: ColumnElement[bool]) -> str | None:
        with suppress(ApprovalStoreError), self._database.begin(read_only=True) as connection:
            approval_id = connection.execute(select(approvals.c.approval_id).where(this)).scalar_one_or_none()
            return approval_id if is_approval_id(approval_id) else None
        return None

    def vote(
        self,
        tenant: str,
        approval_id: str,
        vote: SignedVote,
        effect: Callable[[ApprovalRecord], ApprovalEvent | None],
    ) -> Moved:
        """See `ApprovalStore.vote`."""
        require_texts(tenant, approval_id, vote.statement)
        try:
            with self._database.begin() as connection:
                if not self._lock_with_call(connection, tenant, approval_id):
                    return Moved(moved=False, record=None)
                record = self._read(connection, tenant, approval_id)
                if record is None or record.state is not ApprovalState.PENDING:
                    self._keep_expiries(connection, self._unsaid(connection, [record] if record else []))
                    return Moved(moved=False, record=record)
                # Once more by what the votes sign: the columns by which a rejection is found may have been edited.
                if self._was_rejected(connection, tenant, record.bindings.run_id, record.bindings.proposal_hash):
                    return Moved(moved=False, record=replace(record, state=ApprovalState.REJECTED))
                event = effect(with_vote(record, vote))
                target = None if event is None else next_state(record.state, event)
                at_ms = self._database.now_ms(connection)
                if at_ms >= record.expires_at_ms or (event is not None and target is None):
                    raise UndoneError
                cast = {"statement": vote.statement, "key_id": vote.key_id, "signature": vote.signature}
                connection.execute(_NEW_VOTE, {"approval_id": approval_id, **cast, "at_ms": at_ms})
                others = self._open_of_call(connection, record) if target is ApprovalState.REJECTED else []
                if target is not None and target in OPEN:
                    self._set_state(connection, record, target)
                elif target is not None and not self._end(connection, record, target, by="votes", reason=None):
                    raise UndoneError
                return Moved(
                    moved=target is not None,
                    record=self._read(connection, tenant, approval_id),
                    with_it=self._readable(connection, tenant, others),
                )
        except UndoneError:
            return Moved(moved=False, record=self.get(tenant, approval_id))

    def end(self, tenant: str, approval_id: str, event: ApprovalEvent, by: str, reason: str) -> Moved:
        """See `ApprovalStore.end`."""
        if event not in ENDING_EVENTS:
            raise ValueError("an approval is ended by EXPIRE, DISMISS or REVOKE")
        require_texts(tenant, approval_id, by, reason)
        with self._database.begin() as connection:
            if not self._lock(connection, tenant, approval_id):
                return Moved(moved=False, record=None)
            # Without the payload: one that does not open must not keep anybody from revoking.
            record = self._read(connection, tenant, approval_id, payload=False)
            target = None if record is None else next_state(record.state, event)
            if record is None or target is None:
                self._keep_expiries(connection, self._unsaid(connection, [record] if record else []))
                return Moved(moved=False, record=record)
            moved = self._end(connection, record, target, by=by, reason=reason)
            return Moved(moved=moved, record=self._read(connection, tenant, approval_id, payload=False))

    def _votes_of(self, connection: Connection, ids: Sequence[str]) -> dict[str, list[Row[Any]]]:
        cast = defaultdict(list)
        for some in in_chunks(ids):
            of_these = select(votes).where(votes.c.approval_id.in_(some)).order_by(votes.c.seq)
            for vote in connection.execute(of_these):
                cast[vote.approval_id].append(vote)
        return cast

    def _open_of_call(self, connection: Connection, record: ApprovalRecord) -> Sequence[str]:
        call = given(approval_id=record.approval_id, **_call_of(record))
        return connection.execute(open_of_call(self._dialect), call).scalars().all()

    def _readable(self, connection: Connection, tenant: str, ids: Sequence[str]) -> tuple[ApprovalRecord, ...]:
        """Those that can be read: one that somebody has edited keeps nobody from rejecting another."""
        found = []
        for approval_id in ids:
            with suppress(ApprovalStoreError):
                found.append(self._read(connection, tenant, approval_id, payload=False))
        return tuple(record for record in found if record is not None)

    def _same_open(self, connection: Connection, new: NewApproval) -> ApprovalRecord | None:
        call = given(**_call_of(new), bindings_digest=bindings_digest(new.bindings))
        found = connection.execute(same_open(self._dialect), call).scalar_one_or_none()
        if found is None:
            return None
        record = self._read(connection, new.tenant, found)
        if record is None or record.bindings != new.bindings:
            raise ApprovalStoreError("a stored approval has other bindings than its digest: somebody has edited it")
        # It may expire between the two statements.
        return record if record.state in OPEN else None

    def _full(self, connection: Connection, new: NewApproval, caps: PendingCaps) -> str | None:
        whose = given(tenant=new.tenant, run_id=new.bindings.run_id, identity=new.bindings.identity or "")
        run, principal, tenant = connection.execute(pending(self._dialect), whose).one()
        return full_cap(caps, run=run, principal=principal, tenant=tenant)


def _call_of(request: ApprovalRecord | NewApproval) -> dict[str, str]:
    bound = request.bindings
    return {"tenant": request.tenant, "run_id": bound.run_id, "proposal_hash": bound.proposal_hash}
