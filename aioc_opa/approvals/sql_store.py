"""`SqlApprovalStore`: one implementation for SQLite and PostgreSQL, over SQLAlchemy Core.

Imported only by who opens such a store: it needs the extra ``approvals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.sql_custody import SqlCustody
from aioc_opa.approvals.sql_effects import SqlEffects
from aioc_opa.approvals.sql_requests import SqlRequests
from aioc_opa.approvals.sql_schema import COMPONENT, MIGRATIONS

if TYPE_CHECKING:
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.storage.database import Database


class SqlApprovalStore(SqlRequests, SqlEffects, SqlCustody):
    """An `ApprovalStore` in a database that several processes share.

    Args:
        database: is brought to this release's schema, and closed with the store.
        cipher: encrypts stored arguments; then only encrypted ones are read.

    Raises:
        ApprovalStoreError: the database cannot be used, or is newer than this release.
    """

    def __init__(self, database: Database, *, cipher: PayloadCipher | None = None) -> None:
        super().__init__(database, cipher)
        database.migrate(COMPONENT, MIGRATIONS)

    @property
    def name(self) -> str:
        """``"sqlite"`` or ``"postgresql"``."""
        return self._dialect

    def now_ms(self) -> int:
        """See `ApprovalStore.now_ms`."""
        with self._database.begin(read_only=True) as connection:
            return self._database.now_ms(connection)

    def close(self) -> None:
        """See `ApprovalStore.close`."""
        self._database.close()
