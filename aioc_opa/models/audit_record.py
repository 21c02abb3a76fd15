"""One line of an audit log: an event, or what the log says of itself, with its place in the writer's chain."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import Field

from aioc_opa.models.approval_vote_statement import KeyId
from aioc_opa.models.audit_event import AuditEvent, Digest, Instant
from aioc_opa.models.wire import WireModel

WRITER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
WriterName = Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z")]
LogId = Annotated[str, Field(pattern=r"\A[0-9a-f]{32}\z")]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Position = Annotated[int, Field(ge=1, le=2**53 - 1)]
PublicKey = Annotated[str, Field(pattern=r"\A[A-Za-z0-9+/]{43}=\z")]
Signature = Annotated[str, Field(pattern=r"\A[A-Za-z0-9+/]{86}==\z")]


class EventContent(WireModel):
    """What happened in a guard."""

    type: Literal["event"]
    event: AuditEvent


class WriterStarted(WireModel):
    """A process has begun to write. The first one of a log also begins its chain.

    Attributes:
        key_id: of the key that signs from here on.
        public_key: base64 of 32 bytes. It says who claims to sign; whom to believe is the reader's choice.
        mode: ``required`` or ``best_effort``.
    """

    type: Literal["writer_started"]
    key_id: KeyId
    public_key: PublicKey
    mode: Literal["required", "best_effort"]


class EventsDropped(WireModel):
    """Events before this record that are not known to have been written.

    Attributes:
        count: how many, at most.
    """

    type: Literal["events_dropped"]
    count: Position


class TornRepaired(WireModel):
    """A write was cut off; its bytes stand before this record, in the same line.

    Attributes:
        length: of those bytes.
        digest: their SHA-256.
    """

    type: Literal["torn_repaired"]
    length: Position
    digest: Digest


class Resumed(WireModel):
    """A writer goes on behind records that no checkpoint of its own covers, and does not vouch for them.

    It has not seen them written: a crash can have left them there, and so can whoever can write the log. Later
    checkpoints sign the chain over them, and still do not say that the writer wrote them.

    Attributes:
        first: sequence number of the first of them.
        last: and of the last.
    """

    type: Literal["resumed"]
    first: Position
    last: Position


class Checkpoint(WireModel):
    """The writer signs its chain up to this record (`aioc_opa.core.audit.chain.checkpoint_statement`).

    Attributes:
        key_id: which key.
        signature: Ed25519, base64.
    """

    type: Literal["checkpoint"]
    key_id: KeyId
    signature: Signature


AuditContent = Annotated[
    EventContent | WriterStarted | EventsDropped | TornRepaired | Resumed | Checkpoint,
    Field(discriminator="type"),
]


class AuditRecord(WireModel):
    """A record in its chain. `hash` is the SHA-256 of the RFC 8785 text of all the others.

    Attributes:
        version: of this format.
        writer: one process at a time writes under a name.
        log_id: random, made with the writer's first record: two logs never share one.
        segment: number of the file, from 1; a database has one.
        sequence: from 1, without a gap over all segments.
        at: when it was written, RFC 3339 in UTC, by the writer's clock.
        prev_hash: `hash` of the record before; 64 zeros for the first.
        content: what it says.
        hash: of this record.
    """

    version: Literal[1]
    writer: WriterName
    log_id: LogId
    segment: Position
    sequence: Position
    at: Instant
    prev_hash: Digest
    content: AuditContent
    hash: Digest
