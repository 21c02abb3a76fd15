"""The tables of `sql_schema` for SQLAlchemy Core, and an approval as it really stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    MetaData,
    Table,
    Text,
    and_,
    case,
    exists,
    literal,
    literal_column,
    null,
    or_,
    select,
)

from aioc_opa.approvals.store_steps import REJECTED_BEFORE
from aioc_opa.core.approvals.states import OPEN, ApprovalState
from aioc_opa.storage.database import NOW_MS

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Select

    from aioc_opa.storage.migrations import Dialect

_METADATA: Final = MetaData()


def _table(name: str, *, texts: str, numbers: str) -> Table:
    return Table(
        name,
        _METADATA,
        *(Column(text, Text) for text in texts.split()),
        *(Column(number, BigInteger) for number in numbers.split()),
    )


approvals: Final = _table(
    "aioc_approvals",
    texts="approval_id tenant state run_id identity proposal_hash bindings_digest bindings terms requesters reason "
    "reasons payload",
    numbers="seq created_at_ms expires_at_ms",
)
votes: Final = _table("aioc_approval_votes", texts="approval_id statement key_id signature", numbers="seq at_ms")
endings: Final = _table(
    "aioc_approval_endings",
    texts="approval_id tenant run_id proposal_hash state ended_by end_reason",
    numbers="at_ms",
)
intents: Final = _table(
    "aioc_effect_intents",
    texts="execution_id tenant run_id call_id tool_name proposal_hash approval_id",
    numbers="at_ms",
)
consumptions: Final = _table("aioc_approval_consumptions", texts="approval_id execution_id", numbers="at_ms")
claims: Final = _table("aioc_call_claims", texts="tenant run_id call_id execution_id", numbers="at_ms")
ends: Final = _table("aioc_effect_ends", texts="execution_id outcome", numbers="final at_ms")
access: Final = _table("aioc_approval_access", texts="tenant approval_id who action", numbers="seq at_ms")

EXPIRY: Final = "expiry"
"""Who ended an approval whose time was over."""

REJECTED_STATE: Final[ColumnElement[str]] = literal_column(f"'{ApprovalState.REJECTED}'", Text())
"""As a constant, not a parameter: else SQLite would not use the index of rejections."""

_rejection: Final = endings.alias("rejection")
_known_end: Final = ends.alias("known_end")
_lost_end: Final = ends.alias("lost_end")

STANDING: Final = (
    approvals.outerjoin(consumptions, consumptions.c.approval_id == approvals.c.approval_id)
    .outerjoin(endings, endings.c.approval_id == approvals.c.approval_id)
    .outerjoin(
        _rejection,
        and_(
            _rejection.c.tenant == approvals.c.tenant,
            _rejection.c.run_id == approvals.c.run_id,
            _rejection.c.proposal_hash == approvals.c.proposal_hash,
            _rejection.c.state == REJECTED_STATE,
            _rejection.c.at_ms < approvals.c.expires_at_ms,
        ),
    )
    .outerjoin(_known_end, and_(_known_end.c.execution_id == consumptions.c.execution_id, _known_end.c.final == 1))
    .outerjoin(_lost_end, and_(_lost_end.c.execution_id == consumptions.c.execution_id, _lost_end.c.final == 0))
)
"""Approvals, with what became of them, and the one rejection that their call can have in its run."""


def now(dialect: Dialect) -> ColumnElement[int]:
    """The server's clock, read when the row is looked at."""
    return literal_column(NOW_MS[dialect], BigInteger())


SEEN_LATER: Final = exists().where(
    access.c.tenant == approvals.c.tenant,
    access.c.approval_id == approvals.c.approval_id,
    access.c.at_ms >= approvals.c.expires_at_ms,
)
"""Somebody looked at it after its time: it is over, whatever this server's clock says now."""


def _is_open() -> ColumnElement[bool]:
    return approvals.c.state.in_(sorted(OPEN))


def lapsed(dialect: Dialect) -> ColumnElement[bool]:
    """Whether a row has expired without anybody having written so."""
    return and_(_is_open(), or_(approvals.c.expires_at_ms <= now(dialect), SEEN_LATER))


def standing(dialect: Dialect) -> ColumnElement[str]:
    """The state that counts: a row can be put back, its consumption and its end cannot.

    An open one whose hash is rejected in its run is rejected with it.
    """
    return case(
        (_known_end.c.execution_id.is_not(None), ApprovalState.COMPLETED.value),
        (_lost_end.c.execution_id.is_not(None), ApprovalState.OUTCOME_UNKNOWN.value),
        (consumptions.c.approval_id.is_not(None), ApprovalState.CONSUMED.value),
        (endings.c.state.is_not(None), endings.c.state),
        (and_(_rejection.c.state.is_not(None), _is_open()), ApprovalState.REJECTED.value),
        (lapsed(dialect), ApprovalState.EXPIRED.value),
        else_=approvals.c.state,
    )


def ended_at(dialect: Dialect) -> ColumnElement[int]:
    """When it left the open states, also where nobody has written so; NULL before."""
    return case(
        (consumptions.c.approval_id.is_not(None), consumptions.c.at_ms),
        (endings.c.at_ms.is_not(None), endings.c.at_ms),
        (_rejection.c.at_ms.is_not(None), _rejection.c.at_ms),
        (lapsed(dialect), approvals.c.expires_at_ms),
        else_=null(),
    )


def _ended_by(dialect: Dialect) -> ColumnElement[str]:
    return case(
        (consumptions.c.approval_id.is_not(None), "runtime"),
        (endings.c.ended_by.is_not(None), endings.c.ended_by),
        (_rejection.c.ended_by.is_not(None), _rejection.c.ended_by),
        (lapsed(dialect), EXPIRY),
        else_=null(),
    )


def _end_reason() -> ColumnElement[str]:
    return case(
        (consumptions.c.approval_id.is_not(None), null()),
        (endings.c.state.is_not(None), endings.c.end_reason),
        (_rejection.c.state.is_not(None), literal(REJECTED_BEFORE)),
        else_=null(),
    )


def records(dialect: Dialect, *, payload: bool) -> Select[Any]:
    """A query for approvals, as `sql_rows.record_of` wants them."""
    kept = [column for column in approvals.c if column.name not in {"state", "payload"}]
    return select(
        *kept,
        (approvals.c.payload if payload else null()).label("payload"),
        standing(dialect).label("state"),
        ended_at(dialect).label("ended_at_ms"),
        _ended_by(dialect).label("ended_by"),
        _end_reason().label("end_reason"),
        case((_known_end.c.outcome.is_not(None), _known_end.c.outcome), else_=_lost_end.c.outcome).label("outcome"),
    ).select_from(STANDING)


def stored_states(states: Collection[ApprovalState]) -> ColumnElement[bool] | None:
    """What the column can say of approvals that stand in `states`, for the index; None when it can say anything."""
    return approvals.c.state.in_(sorted(states)) if OPEN.issuperset(states) else None
