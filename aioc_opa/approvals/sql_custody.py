"""Custody of stored arguments in SQL: who has seen them, and until when they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from aioc_opa.approvals.sql_base import SqlBase
from aioc_opa.approvals.sql_rows import access_entry_of
from aioc_opa.approvals.sql_tables import STANDING, access, approvals, ended_at, now
from aioc_opa.approvals.store_steps import ERASED, require_texts
from aioc_opa.core.approvals.states import OPEN, ApprovalState

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def purge_payloads(self, tenant: str | None, ended_before_ms: int) -> int:
        """See `ApprovalStore.purge_payloads`."""
        require_texts(tenant)
        over = (
            select(approvals.c.approval_id)
            .select_from(STANDING)
            .where(approvals.c.payload.is_not(None), ended_at(self._dialect) < ended_before_ms)
        )
        if tenant is not None:
            over = over.where(approvals.c.tenant == tenant)
        with self._database.begin() as connection:
            removed = connection.execute(
                update(approvals).where(approvals.c.approval_id.in_(over)).values(payload=None)
            ).rowcount
        if removed:
            self._database.forget_erased()
        return int(removed)

    def erase(self, tenant: str, approval_id: str) -> bool:
        """See `ApprovalStore.erase`."""
        require_texts(tenant, approval_id)
        with self._database.begin() as connection:
            if not self._lock(connection, tenant, approval_id):
                return False
            record = self._read(connection, tenant, approval_id, payload=False)
            if record is not None and record.state in OPEN:
                self._end(connection, record, ApprovalState.DISMISSED, by="runtime", reason=ERASED)
            connection.execute(update(approvals).where(approvals.c.approval_id == approval_id).values(payload=None))
        self._database.forget_erased()
        return True
