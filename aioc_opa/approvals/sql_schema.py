"""The tables of an approval store, by version. What must not be undone is in tables that only take inserts.

An approval's row says where it stands; who can edit it can make it say anything. So that an approval has ended, was
consumed, that a call was claimed and how an effect ended are read from rows that neither UPDATE, DELETE, REPLACE nor
TRUNCATE can take back (issue 4; whoever may change the schema can drop the triggers: the runtime's account need not be
the owner).

``state`` of a row that has expired may still be ``pending`` or ``approved``: every reader compares the clock.
Times are milliseconds since 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aioc_opa.storage.migrations import Dialect, Migration

COMPONENT: Final = "approvals"

_SERIAL: Final[Mapping[str, str]] = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgresql": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}

# Insert-only tables, and what a REPLACE would have in common with the row it deletes.
_INSERT_ONLY: Final[Mapping[str, str]] = {
    "aioc_approval_votes": "seq = NEW.seq",
    "aioc_approval_endings": (
        "approval_id = NEW.approval_id OR (state = 'rejected' AND NEW.state = 'rejected' "
        "AND tenant = NEW.tenant AND run_id = NEW.run_id AND proposal_hash = NEW.proposal_hash)"
    ),
    "aioc_approval_consumptions": "approval_id = NEW.approval_id OR execution_id = NEW.execution_id",
    "aioc_call_claims": (
        "execution_id = NEW.execution_id OR (tenant = NEW.tenant AND run_id = NEW.run_id AND call_id = NEW.call_id)"
    ),
    "aioc_effect_intents": "execution_id = NEW.execution_id",
    "aioc_effect_ends": "execution_id = NEW.execution_id AND final = NEW.final",
    "aioc_approval_access": "seq = NEW.seq",
}


def _tables(dialect: Dialect) -> list[str]:
    serial = _SERIAL[dialect]
    # A REPLACE by the hidden rowid of another row would delete that one, and no trigger sees it: so there is no rowid.
    keyed = " WITHOUT ROWID" if dialect == "sqlite" else ""
    return [
        f"""CREATE TABLE aioc_approvals (
            seq {serial},
            approval_id TEXT NOT NULL UNIQUE,
            tenant TEXT NOT NULL,
            state TEXT NOT NULL,
            run_id TEXT NOT NULL,
            identity TEXT NOT NULL,
            proposal_hash TEXT NOT NULL,
            bindings_digest TEXT NOT NULL,
            bindings TEXT NOT NULL,
            terms TEXT NOT NULL,
            requesters TEXT NOT NULL,
            reason TEXT NOT NULL,
            reasons TEXT NOT NULL,
            payload TEXT,
            created_at_ms BIGINT NOT NULL,
            expires_at_ms BIGINT NOT NULL)""",
        "CREATE INDEX aioc_approvals_open ON aioc_approvals (tenant, state, expires_at_ms)",
        "CREATE INDEX aioc_approvals_of_run ON aioc_approvals (tenant, run_id, proposal_hash)",
        "CREATE INDEX aioc_approvals_by_state ON aioc_approvals (state, seq)",
        f"""CREATE TABLE aioc_approval_votes (
            seq {serial},
            approval_id TEXT NOT NULL REFERENCES aioc_approvals (approval_id),
            statement TEXT NOT NULL,
            key_id TEXT NOT NULL,
            signature TEXT NOT NULL,
            at_ms BIGINT NOT NULL)""",
        "CREATE INDEX aioc_approval_votes_of ON aioc_approval_votes (approval_id, seq)",
        # With its call: what was rejected stays rejected for its run, whatever becomes of the approval's row.
        f"""CREATE TABLE aioc_approval_endings (
            approval_id TEXT PRIMARY KEY REFERENCES aioc_approvals (approval_id),
            tenant TEXT NOT NULL,
            run_id TEXT NOT NULL,
            proposal_hash TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('rejected', 'expired', 'dismissed', 'revoked')),
            ended_by TEXT NOT NULL,
            end_reason TEXT,
            at_ms BIGINT NOT NULL){keyed}""",
        """CREATE UNIQUE INDEX aioc_approval_endings_rejected
            ON aioc_approval_endings (tenant, run_id, proposal_hash) WHERE state = 'rejected'""",
        f"""CREATE TABLE aioc_effect_intents (
            execution_id TEXT PRIMARY KEY,
            tenant TEXT NOT NULL,
            run_id TEXT NOT NULL,
            call_id TEXT NOT NULL,
            tool_name TEXT NOT NULL,
            proposal_hash TEXT NOT NULL,
            approval_id TEXT,
            at_ms BIGINT NOT NULL){keyed}""",
        f"""CREATE TABLE aioc_approval_consumptions (
            approval_id TEXT PRIMARY KEY REFERENCES aioc_approvals (approval_id),
            execution_id TEXT NOT NULL UNIQUE REFERENCES aioc_effect_intents (execution_id),
            at_ms BIGINT NOT NULL){keyed}""",
        f"""CREATE TABLE aioc_call_claims (
            tenant TEXT NOT NULL,
            run_id TEXT NOT NULL,
            call_id TEXT NOT NULL,
            execution_id TEXT NOT NULL UNIQUE REFERENCES aioc_effect_intents (execution_id),
            at_ms BIGINT NOT NULL,
            PRIMARY KEY (tenant, run_id, call_id)){keyed}""",
        # final 0: nobody knew; 1: how it really ended, which can become known later.
        f"""CREATE TABLE aioc_effect_ends (
            execution_id TEXT NOT NULL REFERENCES aioc_effect_intents (execution_id),
            final INTEGER NOT NULL CHECK (final IN (0, 1)),
            outcome TEXT NOT NULL,
            at_ms BIGINT NOT NULL,
            PRIMARY KEY (execution_id, final)){keyed}""",
        f"""CREATE TABLE aioc_approval_access (
            seq {serial},
            tenant TEXT NOT NULL,
            approval_id TEXT NOT NULL,
            who TEXT NOT NULL,
            action TEXT NOT NULL,
            at_ms BIGINT NOT NULL)""",
        "CREATE INDEX aioc_approval_access_of ON aioc_approval_access (tenant, approval_id)",
    ]


def _guards(dialect: Dialect) -> list[str]:
    if dialect == "postgresql":
        return [
            (
                "CREATE FUNCTION aioc_insert_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "RAISE EXCEPTION 'this table only takes inserts' USING ERRCODE = 'restrict_violation'; END $$"
            ),
            *(
                f"CREATE TRIGGER {table}_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION aioc_insert_only()"
                for table in _INSERT_ONLY
            ),
        ]
    refuse = "BEGIN SELECT RAISE(ABORT, 'this table only takes inserts'); END"
    return [
        f"CREATE TRIGGER {table}_no_{event.split()[0].lower()} BEFORE {event} {refuse}"
        for table, same in _INSERT_ONLY.items()
        for event in (
            f"UPDATE ON {table}",
            f"DELETE ON {table}",
            # REPLACE deletes without firing the trigger above (https://sqlite.org/lang_conflict.html).
            f"INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})",  # noqa: S608 - our own names
        )
    ]


def _first(dialect: Dialect) -> Sequence[str]:
    return [*_tables(dialect), *_guards(dialect)]


MIGRATIONS: Final[Sequence[Migration]] = (_first,)
