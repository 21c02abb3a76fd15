"""The table of kept arguments. Rows are erased when their time is over: nothing else may point here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.storage.migrations import Dialect, Migration

COMPONENT: Final = "audit_arguments"

INSERT: Final = (
    "INSERT INTO aioc_audit_arguments (tenant, request_id, at_ms, kept) VALUES (:tenant, :request_id, :at_ms, :kept)"
)
SELECT: Final = "SELECT kept FROM aioc_audit_arguments WHERE tenant = :tenant AND request_id = :request_id"
ERASE: Final = "DELETE FROM aioc_audit_arguments WHERE at_ms < :before"


def _first(dialect: Dialect) -> Sequence[str]:
    del dialect
    return [
        """CREATE TABLE aioc_audit_arguments (
            tenant TEXT NOT NULL,
            request_id TEXT NOT NULL,
            at_ms BIGINT NOT NULL,
            kept TEXT NOT NULL,
            PRIMARY KEY (tenant, request_id))""",
        "CREATE INDEX aioc_audit_arguments_by_age ON aioc_audit_arguments (at_ms)",
    ]


MIGRATIONS: Final[Sequence[Migration]] = (_first,)
