"""`SqlApprovalStore`: one implementation for SQLite and PostgreSQL, over SQLAlchemy Core.

Imported only by who opens such a store: it needs the extra ``approvals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.sql_custody import SqlCustody
from aioc_opa.approvals.sql_effects import SqlEffects
from aioc_opa.approvals.sql_requests import SqlRequests
from aioc_opa.approvals.sql_schema import COMPONENT, MIGRATIONS
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.migrations import refuse_newer

if TYPE_CHECKING:
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.storage.database import Database


class SqlApprovalStore(SqlRequests, SqlEffects, SqlCustody):
    """An `ApprovalStore` in a database that several processes share.

    Args:
        database: is brought to this release's schema, and closed with the store.
        cipher: encrypts stored arguments; then only encrypted ones are read.
        make: whether its tables are made or upgraded; else they must be there as this release has them.

    Raises:
        ApprovalStoreError: the database cannot be used, is newer than this release, or has no such tables.
    """

    def __init__(self, database: Database, *, cipher: PayloadCipher | None = None, make: bool = True) -> None:
        super().__init__(database, cipher)
        if make:
            database.migrate(COMPONENT, MIGRATIONS)
        else:
            _require(database.version(COMPONENT))

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


def _require(version: int) -> None:
    refuse_newer(version, COMPONENT, MIGRATIONS)
    if not version:
        raise ApprovalStoreError(
            "there is no approval store in this database: a guard makes it when it first opens it; is it the right "
            "address, and for PostgreSQL the right schema (search_path)?"
        )
    if version < len(MIGRATIONS):
        raise ApprovalStoreError(
            f"this approval store has version {version} and this release works with {len(MIGRATIONS)}: start a "
            "guard of this release, which upgrades it"
        )
