"""Whether a checkpoint is signed, and what of a log that is there already a writer can vouch for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.approvals.ed25519 import verifies
from aioc_opa.core.audit.chain import checkpoint_statement
from aioc_opa.models.audit_record import Checkpoint

if TYPE_CHECKING:
    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.audit.sink import Resumed
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.models.audit_record import AuditRecord


def is_signed(record: AuditRecord, content: Checkpoint, public_key: bytes) -> bool:
    """Whether the signature in a checkpoint is of its record, by this key.

    Raises:
        ConfigurationError: the extra `approvals` is not installed.
    """
    statement = checkpoint_statement(
        writer=record.writer,
        log_id=record.log_id,
        segment=record.segment,
        sequence=record.sequence,
        at=record.at,
        prev_hash=record.prev_hash,
        key_id=content.key_id,
    )
    return verifies(public_key, statement, content.signature)


def not_vouched_for(found: Resumed, *, writer: str, key: AuditKey) -> JsonObject | None:
    """What a writer says before it goes on: the records at the end that no checkpoint of its own covers.

    Under a new key that is everything that was found. It takes nothing from records that an earlier checkpoint covers:
    a reader who believes that one's key goes by it.

    Returns:
        Content of a `Resumed`; None when there is nothing that it does not vouch for.
    """
    head = found.head
    if head is None:
        return None
    signed = 0
    for record in found.checkpoints:
        content = record.content
        if type(content) is not Checkpoint or (content.key_id, record.log_id) != (key.key_id, head.log_id):
            continue
        if record.writer == writer and is_signed(record, content, key.public_key):
            signed = record.sequence
            break
    return None if signed >= head.sequence else {"type": "resumed", "first": signed + 1, "last": head.sequence}
