"""The table of audit logs in a database. It only takes inserts; whoever may change the schema can drop the triggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.storage.migrations import Dialect, Migration

COMPONENT: Final = "audit"

_TABLE: Final = """CREATE TABLE aioc_audit_records (
    writer VARCHAR(64) NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    hash CHAR(64) NOT NULL UNIQUE,
    record TEXT NOT NULL,
    PRIMARY KEY (writer, sequence))"""

_REFUSE: Final = "BEGIN SELECT RAISE(ABORT, 'this table only takes inserts'); END"
_SAME: Final = (
    "SELECT 1 FROM aioc_audit_records WHERE (writer = NEW.writer AND sequence = NEW.sequence) OR hash = NEW.hash"
)


def _first(dialect: Dialect) -> Sequence[str]:
    if dialect == "postgresql":
        return [
            _TABLE,
            (
                "CREATE FUNCTION aioc_audit_insert_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "RAISE EXCEPTION 'this table only takes inserts' USING ERRCODE = 'restrict_violation'; END $$"
            ),
            (
                "CREATE TRIGGER aioc_audit_records_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE "
                "ON aioc_audit_records FOR EACH STATEMENT EXECUTE FUNCTION aioc_audit_insert_only()"
            ),
        ]
    return [
        # A REPLACE by the hidden rowid of another row would delete that one, and no trigger sees it: there is no rowid.
        f"{_TABLE} WITHOUT ROWID",
        f"CREATE TRIGGER aioc_audit_records_no_update BEFORE UPDATE ON aioc_audit_records {_REFUSE}",
        f"CREATE TRIGGER aioc_audit_records_no_delete BEFORE DELETE ON aioc_audit_records {_REFUSE}",
        # REPLACE deletes without firing the trigger above (https://sqlite.org/lang_conflict.html).
        (
            "CREATE TRIGGER aioc_audit_records_no_insert BEFORE INSERT ON aioc_audit_records "
            f"WHEN EXISTS ({_SAME}) {_REFUSE}"
        ),
    ]


MIGRATIONS: Final[Sequence[Migration]] = (_first,)
