"""Approvals in PostgreSQL: for services on several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.stores import open_sql_store
from aioc_opa.errors import ApprovalStoreError

if TYPE_CHECKING:
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.store import ApprovalStore


def open_postgres_store(url: str, *, cipher: PayloadCipher | None = None) -> ApprovalStore:
    """Open the store in the database of `url`; its tables are made in the first schema of the search path.

    Args:
        url: ``postgresql://user:password@host/database``, with libpq's parameters (``?sslmode=verify-full``).
        cipher: encrypts stored arguments.

    Raises:
        ApprovalStoreError: it cannot be used, is newer than this release, or the extra ``postgres`` is missing.
    """
    if not url.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        raise ApprovalStoreError("the address of a PostgreSQL store starts with postgresql://")
    return open_sql_store(url, cipher=cipher)
