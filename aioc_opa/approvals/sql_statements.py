"""The statements of an approval's life, each built once: building one costs several times what SQLite takes to run it.

Measured on the record query: 1.19 ms when it is built for each call, 0.20 ms when it is kept.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Text, and_, bindparam, case, exists, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from aioc_opa.approvals.sql_tables import (
    EXPIRY,
    REJECTED_STATE,
    SEEN_LATER,
    STANDING,
    approvals,
    claims,
    consumptions,
    endings,
    ends,
    intents,
    now,
    records,
    standing,
    votes,
)
from aioc_opa.core.approvals.states import OPEN, ApprovalState

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Executable, Table

    from aioc_opa.storage.migrations import Dialect


def _given(name: str) -> ColumnElement[Any]:
    return bindparam(f"given_{name}", type_=Text)


def given(**values: object) -> dict[str, object]:
    """Parameters of these statements."""
    return {f"given_{name}": value for name, value in values.items()}


_THIS: Final = and_(approvals.c.approval_id == _given("approval_id"), approvals.c.tenant == _given("tenant"))
_SAME_CALL: Final = and_(
    approvals.c.tenant == _given("tenant"),
    approvals.c.run_id == _given("run_id"),
    approvals.c.proposal_hash == _given("proposal_hash"),
)

_REJECTED_CALL: Final = and_(
    endings.c.tenant == _given("tenant"),
    endings.c.run_id == _given("run_id"),
    endings.c.proposal_hash == _given("proposal_hash"),
    endings.c.state == REJECTED_STATE,
)

LOCK: Final = select(approvals.c.run_id, approvals.c.proposal_hash).where(_THIS).with_for_update()
VOTES: Final = select(votes).where(votes.c.approval_id == _given("approval_id")).order_by(votes.c.seq)
REJECTED: Final = select(endings.c.approval_id).where(_REJECTED_CALL)
SET_STATE: Final = update(approvals).where(_THIS).values(state=_given("state"))
EXPIRE: Final = update(approvals).values(state=ApprovalState.EXPIRED.value)
INTENT: Final = select(intents.c.approval_id).where(
    intents.c.execution_id == _given("execution_id"), intents.c.tenant == _given("tenant")
)
FINISH: Final = (
    update(approvals)
    .where(
        approvals.c.approval_id == _given("approval_id"),
        exists().where(
            consumptions.c.approval_id == approvals.c.approval_id,
            consumptions.c.execution_id == _given("execution_id"),
        ),
    )
    .values(state=_given("state"))
)


_OVER: Final = (
    consumptions.c.approval_id == _given("approval_id"),
    endings.c.approval_id == _given("approval_id"),
)


@cache
def record(dialect: Dialect, *, payload: bool) -> Executable:
    """One approval of one tenant."""
    return records(dialect, payload=payload).where(_THIS)


@cache
def same_open(dialect: Dialect) -> Executable:
    """The id of the open approval of a call with the same bindings."""
    query = select(approvals.c.approval_id).select_from(STANDING)
    same = approvals.c.bindings_digest == _given("bindings_digest")
    return query.where(_SAME_CALL, same, standing(dialect).in_(sorted(OPEN))).order_by(approvals.c.seq).limit(1)


@cache
def open_of_call(dialect: Dialect) -> Executable:
    """The ids of the other open requests of a call in its run."""
    query = select(approvals.c.approval_id).select_from(STANDING)
    others = approvals.c.approval_id != _given("approval_id")
    return query.where(_SAME_CALL, others, standing(dialect).in_(sorted(OPEN))).order_by(approvals.c.seq)


def _expired_unsaid(dialect: Dialect) -> ColumnElement[bool]:
    over = standing(dialect) == ApprovalState.EXPIRED.value
    return and_(over, endings.c.approval_id.is_(None))


@cache
def expired_of_call(dialect: Dialect) -> Executable:
    """The ids of requests of a call whose time is over and whose end nobody has written; none that is in use now."""
    query = select(approvals.c.approval_id).select_from(STANDING)
    # Not waited for: who opens a request has the call's turn, and nobody who has that waits for a row.
    return query.where(_SAME_CALL, _expired_unsaid(dialect)).with_for_update(of=approvals, skip_locked=True)


def lock_all(ids: Collection[str]) -> Executable:
    """Lock these rows, in one order everywhere."""
    return (
        select(approvals.c.approval_id)
        .where(approvals.c.approval_id.in_(ids))
        .order_by(approvals.c.seq)
        .with_for_update()
    )


def write_expiries(dialect: Dialect, ids: Collection[str]) -> Executable:
    """Write the end of those of `ids` whose time is over, at the time when it was; gives the ids that it wrote.

    Not cached: an approval expires once.
    """
    values = {
        "approval_id": approvals.c.approval_id,
        "tenant": approvals.c.tenant,
        "run_id": approvals.c.run_id,
        "proposal_hash": approvals.c.proposal_hash,
        "state": literal(ApprovalState.EXPIRED.value, Text),
        "ended_by": literal(EXPIRY, Text),
        "at_ms": approvals.c.expires_at_ms,
    }
    rows = select(*values.values()).select_from(STANDING)
    rows = rows.where(approvals.c.approval_id.in_(ids), _expired_unsaid(dialect))
    once = insert_postgresql if dialect == "postgresql" else insert_sqlite
    written = once(endings).from_select(list(values), rows)
    return written.on_conflict_do_nothing().returning(endings.c.approval_id)


@cache
def pending(dialect: Dialect) -> Executable:
    """How many are pending and not expired: of the run, of the principal, of the tenant."""
    count = select(
        func.count(case((approvals.c.run_id == _given("run_id"), 1))),
        func.count(case((approvals.c.identity == _given("identity"), 1))),
        func.count(),
    )
    return count.select_from(STANDING).where(
        approvals.c.tenant == _given("tenant"),
        # For the index; what counts is the line after.
        approvals.c.state == ApprovalState.PENDING.value,
        approvals.c.expires_at_ms > now(dialect),
        standing(dialect) == ApprovalState.PENDING.value,
    )


@cache
def intend(dialect: Dialect) -> Executable:
    """Write an intent."""
    names = [column.name for column in intents.c if column.name != "at_ms"]
    return insert(intents).values(**{name: _given(name) for name in names}, at_ms=now(dialect))


@cache
def use_up(dialect: Dialect) -> Executable:
    """Approved to consumed, by the clock at this moment or the latest time that stands in its access log."""
    fresh = and_(approvals.c.expires_at_ms > now(dialect), ~SEEN_LATER)
    rejected = exists().where(
        endings.c.tenant == approvals.c.tenant,
        endings.c.run_id == approvals.c.run_id,
        endings.c.proposal_hash == approvals.c.proposal_hash,
        endings.c.state == REJECTED_STATE,
    )
    usable = and_(_THIS, approvals.c.state == ApprovalState.APPROVED.value, fresh, ~rejected)
    return update(approvals).where(usable).values(state=ApprovalState.CONSUMED.value)


@cache
def write_consumption(dialect: Dialect) -> Executable:
    """Once for an approval that has not ended and whose call is not rejected; gives no row otherwise."""
    return _once(dialect, consumptions, *_OVER, _REJECTED_CALL)


@cache
def write_ending(dialect: Dialect) -> Executable:
    """Once for an approval that is not consumed, and one rejection for a call; gives no row otherwise."""
    return _once(dialect, endings, *_OVER)


@cache
def write_claim(dialect: Dialect) -> Executable:
    """Once for a call; gives no row when it was written before."""
    keys = ("tenant", "run_id", "call_id")
    return _once(dialect, claims, and_(*(claims.c[name] == _given(name) for name in keys)))


@cache
def write_end(dialect: Dialect) -> Executable:
    """Once for what is known, and once before for that nobody knows; gives no row otherwise."""
    known = or_(ends.c.final == 1, ends.c.final == bindparam("given_final", type_=BigInteger))
    return _once(dialect, ends, and_(ends.c.execution_id == _given("execution_id"), known))


def _once(dialect: Dialect, table: Table, *against: ColumnElement[bool]) -> Executable:
    """Insert unless one of `against` is there. Of two with one key PostgreSQL lets the second wait for the first."""
    names = [column.name for column in table.c if column.name != "at_ms"]
    values = [bindparam(f"given_{name}", type_=BigInteger if name == "final" else Text).label(name) for name in names]
    row = select(*values, now(dialect).label("at_ms")).where(*(~exists().where(there) for there in against))
    once = insert_postgresql if dialect == "postgresql" else insert_sqlite
    return once(table).from_select([*names, "at_ms"], row).on_conflict_do_nothing().returning(table.c.at_ms)
