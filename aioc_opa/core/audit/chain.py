"""The chain of one writer: each record holds the hash of the one before, and every field is under a hash.

``hash`` = SHA-256 of the RFC 8785 text of the record without ``hash``. A line is the RFC 8785 text of the whole record:
there is one text for a record, so any other line of the same meaning is an edit too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.strict_json import decode_object
from aioc_opa.models.audit_record import AuditRecord

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject

GENESIS: Final = "0" * 64
"""``prevHash`` of the first record."""

MAX_RECORD_BYTES: Final = 512 * 1024
"""UTF-8 bytes of one record."""

CHECKPOINT_TYPE: Final = "aioc-opa/audit-checkpoint/1"

_LIMITS: Final = JsonLimits(max_bytes=MAX_RECORD_BYTES, max_depth=6, max_nodes=8192)


TORN_END: Final = b"\x1e"
"""Stands between the bytes of a write that was cut off and the record that repairs it; no record has it in its text."""


class NotARecordError(ValueError):
    """A text is not exactly one record's. The message holds no part of it."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last record of a chain.

    Attributes:
        log_id: of the chain.
        segment: that the record is in.
        sequence: of the record.
        hash: of the record.
    """

    log_id: str
    segment: int
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A record as it is written.

    Attributes:
        text: RFC 8785, without a line's end.
        head: the chain's, once it is written.
    """

    text: str
    head: Head


def seal(content: JsonObject, *, writer: str, log_id: str, segment: int, at: str, before: Head | None) -> Sealed:
    """The next record of a chain.

    Args:
        content: of a checked model, as it stands on the wire.
        writer: whose chain; a `WriterName`.
        log_id: of the chain; a `LogId`.
        segment: that the record goes into.
        at: RFC 3339 in UTC with milliseconds.
        before: the chain's head; None for the first record.

    Raises:
        NotCanonicalError: a text has no canonical form.
    """
    sequence = 1 if before is None else before.sequence + 1
    prev_hash = GENESIS if before is None else before.hash
    # The members in the order of RFC 8785; all but the content are of an alphabet that needs no escape.
    start = f'{{"at":"{at}","content":{canonical_text(content)},'
    end = (
        f'"logId":"{log_id}","prevHash":"{prev_hash}","segment":{segment},"sequence":{sequence},'
        f'"version":1,"writer":"{writer}"}}'
    )
    found = hashlib.sha256((start + end).encode()).hexdigest()
    return Sealed(f'{start}"hash":"{found}",{end}', Head(log_id, segment, sequence, found))


def record_hash(record: JsonObject) -> str:
    """``hash`` of a record; its own ``hash`` is left out."""
    bare = {name: value for name, value in record.items() if name != "hash"}
    return hashlib.sha256(canonical_text(bare).encode()).hexdigest()


def record_of(text: bytes) -> AuditRecord:
    """The record that `text` is, if it is exactly that record's text and its hash is right.

    Raises:
        NotARecordError: it is not.
    """
    try:
        value = decode_object(text, _LIMITS)
        if canonical_text(value).encode() != text:
            raise NotARecordError("the text is not in canonical form (RFC 8785)")
        record = AuditRecord.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise NotARecordError(f"the object is no audit record: {first['type']}") from None
    except NotARecordError:
        raise
    except ValueError:
        raise NotARecordError("the text is no strict JSON object") from None
    if record_hash(value) != record.hash:
        raise NotARecordError("its hash is not that of its fields")
    return record


def head_of(record: AuditRecord) -> Head:
    """The chain's head at `record`."""
    return Head(record.log_id, record.segment, record.sequence, record.hash)


def checkpoint_statement(
    *, writer: str, log_id: str, segment: int, sequence: int, at: str, prev_hash: str, key_id: str
) -> bytes:
    """What a checkpoint's signature is of: every field of its record but the signature and the hash over it.

    ``prevHash`` stands for all records before. The type keeps the signature from being taken for any other.
    """
    statement: JsonObject = {
        "type": CHECKPOINT_TYPE,
        "writer": writer,
        "logId": log_id,
        "segment": segment,
        "sequence": sequence,
        "at": at,
        "prevHash": prev_hash,
        "keyId": key_id,
    }
    return canonical_text(statement).encode()


def foreign_record_text(writer: str) -> str:
    """What is said when somebody else has written under a writer's name."""
    return (
        f"audit log of {writer!r}: what stands at its end was not written by this process; nothing is added to it. "
        "Give each process a writer's name of its own, see `aioc-opa audit verify`, and open the trail again: what "
        "was found is then declared as not vouched for"
    )
