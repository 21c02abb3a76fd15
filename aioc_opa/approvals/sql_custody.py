"""Custody of stored arguments in SQL: who has seen them, and until when they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, insert, literal, select, update

from aioc_opa.approvals.records import RUNTIME
from aioc_opa.approvals.sql_base import SqlBase, in_chunks
from aioc_opa.approvals.sql_rows import access_entry_of
from aioc_opa.approvals.sql_tables import STANDING, access, approvals, ended_at, now
from aioc_opa.approvals.store_steps import ERASED, require_texts
from aioc_opa.core.approvals.states import OPEN, ApprovalState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from aioc_opa.approvals.records import AccessEntry


class SqlCustody(SqlBase):
    """The access log, retention and deletion."""

    def log_access(self, tenant: str, approval_id: str, who: str, action: str) -> None:
        """See `ApprovalStore.log_access`."""
        require_texts(tenant, approval_id, who, action)
        with self._database.begin() as connection:
            connection.execute(
                insert(access).values(
                    tenant=tenant, approval_id=approval_id, who=who, action=action, at_ms=now(self._dialect)
                )
            )

    def access_log(self, tenant: str | None, approval_id: str | None) -> Sequence[AccessEntry]:
        """See `ApprovalStore.access_log`."""
        require_texts(tenant, approval_id)
        query = select(access).order_by(access.c.seq)
        if tenant is not None:
            query = query.where(access.c.tenant == tenant)
        if approval_id is not None:
            query = query.where(access.c.approval_id == approval_id)
        with self._database.begin(read_only=True) as connection:
            rows = connection.execute(query).all()
        return [access_entry_of(row) for row in rows]

    def purge_payloads(self, tenant: str | None, ended_before_ms: int, *, by: str = RUNTIME) -> int:
        """See `ApprovalStore.purge_payloads`."""
        require_texts(tenant, by)
        over = (
            select(approvals.c.approval_id)
            .select_from(STANDING)
            .where(approvals.c.payload.is_not(None), ended_at(self._dialect) < ended_before_ms)
            .order_by(approvals.c.seq)
            .with_for_update(of=approvals)
        )
        if tenant is not None:
            over = over.where(approvals.c.tenant == tenant)
        with self._database.begin() as connection:
            ids = connection.execute(over).scalars().all()
            self._keep_expiries(connection, ids)
            for some in in_chunks(ids):
                self._remove(connection, some, by, "purge")
        if ids:
            self._database.forget_erased()
        return len(ids)

    def erase(self, tenant: str, approval_id: str, *, by: str = RUNTIME) -> bool:
        """See `ApprovalStore.erase`."""
        require_texts(tenant, approval_id, by)
        with self._database.begin() as connection:
            if not self._lock(connection, tenant, approval_id):
                return False
            record = self._read(connection, tenant, approval_id, payload=False)
            if record is not None and record.state in OPEN:
                self._end(connection, record, ApprovalState.DISMISSED, by=by, reason=ERASED)
            self._keep_expiries(connection, self._unsaid(connection, [record] if record else []))
            self._remove(connection, [approval_id], by, "erase")
        self._database.forget_erased()
        return True

    def _remove(self, connection: Connection, ids: Sequence[str], by: str, action: str) -> None:
        these = approvals.c.approval_id.in_(ids)
        entries = select(
            approvals.c.tenant, approvals.c.approval_id, literal(by, Text), literal(action, Text), now(self._dialect)
        ).where(these)
        columns = ["tenant", "approval_id", "who", "action", "at_ms"]
        connection.execute(insert(access).from_select(columns, entries))
        connection.execute(update(approvals).where(these).values(payload=None))
