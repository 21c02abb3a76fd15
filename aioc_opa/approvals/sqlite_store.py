"""Approvals in a SQLite file: the default for one machine, shared by its processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aioc_opa.approvals.stores import open_sql_store

if TYPE_CHECKING:
    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.store import ApprovalStore


def open_sqlite_store(path: str | Path, *, cipher: PayloadCipher | None = None) -> ApprovalStore:
    """Open, or make, the store in the file `path`.

    Args:
        path: on a file system of this machine; made with mode 0600.
        cipher: encrypts stored arguments.

    Raises:
        ApprovalStoreError: it cannot be used, is newer than this release, or the extra ``approvals`` is missing.
    """
    return open_sql_store(Path(path), cipher=cipher)
