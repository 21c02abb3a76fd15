"""Approvals as rows and back. A row that cannot be read back is an error, never a guess.

SQLite keeps any value in any column, so each is looked at before anything is made of it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import TypeAdapter, ValidationError

from aioc_opa.approvals.payload_cipher import is_sealed
from aioc_opa.approvals.records import AccessEntry, ApprovalRecord, EffectIntent, EffectOutcome
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.errors import ApprovalStoreError
from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.approval_vote_statement import SignedVote
from aioc_opa.models.decision import ApprovalTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from aioc_opa.approvals.payload_cipher import PayloadCipher
    from aioc_opa.approvals.records import NewApproval

_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: later times have no RFC 3339 text."""

_OUTCOMES: Final = frozenset(get_args(EffectOutcome))
_TEXT_COLUMNS: Final = ("approval_id", "tenant", "state", "bindings", "terms", "requesters", "reason", "reasons")
_OPTIONAL_TEXT_COLUMNS: Final = ("payload", "ended_by", "end_reason", "outcome")

_TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


def bindings_digest(bindings: ApprovalBindings) -> str:
    """Lower-case hex SHA-256 of the RFC 8785 text of `bindings`."""
    return hashlib.sha256(canonical_text(bindings.model_dump(by_alias=True)).encode()).hexdigest()


def place_of(tenant: str, approval_id: str, digest: str) -> str:
    """What an encrypted payload belongs to: it opens in this tenant, for this approval, with these bindings only."""
    return json.dumps([tenant, approval_id, digest])


def row_of(new: NewApproval, *, now_ms: int, cipher: PayloadCipher | None) -> dict[str, object]:
    """The row of a new approval."""
    bindings, digest = new.bindings, bindings_digest(new.bindings)
    place = place_of(new.tenant, new.approval_id, digest)
    return {
        "approval_id": new.approval_id,
        "tenant": new.tenant,
        "state": ApprovalState.PENDING.value,
        "run_id": bindings.run_id,
        "identity": bindings.identity or "",
        "proposal_hash": bindings.proposal_hash,
        "bindings_digest": digest,
        "bindings": bindings.model_dump_json(by_alias=True),
        "terms": new.terms.model_dump_json(by_alias=True),
        "requesters": json.dumps(new.requesters),
        "reason": new.reason,
        "reasons": json.dumps(new.reasons),
        "payload": new.payload if cipher is None else cipher.seal(new.payload, place=place),
        "created_at_ms": now_ms,
        "expires_at_ms": now_ms + new.terms.ttl_seconds * 1000,
    }


def record_of(row: Row[Any], votes: Sequence[Row[Any]], cipher: PayloadCipher | None) -> ApprovalRecord:
    """The approval of a row of `sql_tables.records`.

    Raises:
        ApprovalStoreError: it cannot be read: edited, or encrypted with a key that is not here. Names the column
            whose value is of another type or out of range, and never the value.
    """
    _require_types(row, votes)
    try:
        bindings = ApprovalBindings.model_validate_json(row.bindings)
        return ApprovalRecord(
            approval_id=row.approval_id,
            tenant=row.tenant,
            state=ApprovalState(row.state),
            bindings=bindings,
            terms=ApprovalTerms.model_validate_json(row.terms),
            requesters=_TEXTS.validate_json(row.requesters, strict=True),
            reason=row.reason,
            reasons=_TEXTS.validate_json(row.reasons, strict=True),
            created_at_ms=row.created_at_ms,
            expires_at_ms=row.expires_at_ms,
            votes=tuple(SignedVote(statement=v.statement, key_id=v.key_id, signature=v.signature) for v in votes),
            payload=None if row.payload is None else _opened(row, bindings_digest(bindings), cipher),
            ended_at_ms=row.ended_at_ms,
            ended_by=row.ended_by,
            end_reason=row.end_reason,
            outcome=row.outcome,
        )
    except (ValidationError, ValueError):
        raise ApprovalStoreError("a stored approval cannot be read: somebody has edited it") from None


def intent_of(row: Row[Any]) -> EffectIntent:
    """The intent of a row of its table.

    Raises:
        ApprovalStoreError: as for `record_of`.
    """
    _require_texts(row, *(name for name in EffectIntent.__slots__ if name != "approval_id"))
    _require_texts(row, "approval_id", optional=True)
    _require_times(row, "at_ms")
    return EffectIntent(**{name: getattr(row, name) for name in EffectIntent.__slots__})


def access_entry_of(row: Row[Any]) -> AccessEntry:
    """The entry of a row of the access log.

    Raises:
        ApprovalStoreError: as for `record_of`.
    """
    _require_texts(row, *(name for name in AccessEntry.__slots__ if name != "at_ms"))
    _require_times(row, "at_ms")
    return AccessEntry(**{name: getattr(row, name) for name in AccessEntry.__slots__})


def _require_types(row: Row[Any], votes: Sequence[Row[Any]]) -> None:
    _require_texts(row, *_TEXT_COLUMNS)
    _require_texts(row, *_OPTIONAL_TEXT_COLUMNS, optional=True)
    _require_times(row, "created_at_ms", "expires_at_ms")
    if row.ended_at_ms is not None:
        _require_times(row, "ended_at_ms")
    if row.outcome is not None and row.outcome not in _OUTCOMES:
        raise _edited("outcome")
    for vote in votes:
        _require_texts(vote, "statement", "key_id", "signature")


def _require_texts(row: Row[Any], *columns: str, optional: bool = False) -> None:
    for column in columns:
        value = getattr(row, column)
        if type(value) is not str and not (optional and value is None):
            raise _edited(column)


def _require_times(row: Row[Any], *columns: str) -> None:
    for column in columns:
        value = getattr(row, column)
        if type(value) is not int or not 0 <= value <= _LAST_MS:
            raise _edited(column)


def _edited(column: str) -> ApprovalStoreError:
    return ApprovalStoreError(f"the stored column {column} cannot be read: somebody has edited it")


def _opened(row: Row[Any], digest: str, cipher: PayloadCipher | None) -> str:
    if cipher is not None:
        return cipher.open(row.payload, place=place_of(row.tenant, row.approval_id, digest))
    if is_sealed(row.payload):
        raise ApprovalStoreError("stored arguments are encrypted, and this store has no keys")
    return row.payload  # type: ignore[no-any-return] # `_require_types` has looked at it
