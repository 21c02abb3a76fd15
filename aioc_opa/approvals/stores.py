"""`open_store`: the store that one word in a configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.memory_store import MemoryApprovalStore
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.storage.database import Database

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.store import ApprovalStore

MEMORY: Final = "memory:"


def open_store(target: str, *, cipher: PayloadCipher | None = None, make: bool = True) -> ApprovalStore:
    """Open the store that `target` names.

    Args:
        target: path of a SQLite file, ``sqlite:///…``, ``postgresql://…``, or ``memory:`` (tests and trying out: it
            ends with the process, and no other process sees it).
        cipher: encrypts stored arguments; not in memory.
        make: whether tables are made or upgraded; else they must be there as this release has them.

    Raises:
        ApprovalStoreError: there is no such store, or it cannot be used.
    """
    if target == MEMORY:
        if cipher is not None:
            raise ApprovalStoreError("the store in memory does not encrypt")
        return MemoryApprovalStore()
    return open_sql_store(target, cipher=cipher, make=make)


def open_sql_store(target: str | Path, *, cipher: PayloadCipher | None = None, make: bool = True) -> ApprovalStore:
    """Open a store in a database.

    Raises:
        ApprovalStoreError: as `open_store`.
    """
    database = Database.open(target)  # says which extra is missing
    from aioc_opa.approvals.sql_store import SqlApprovalStore  # noqa: PLC0415 - an optional dependency

    try:
        return SqlApprovalStore(database, cipher=cipher, make=make)
    except BaseException:
        database.close()
        raise
