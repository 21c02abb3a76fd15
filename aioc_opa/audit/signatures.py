"""Who may have signed: the keys that a reader believes, for the writers that they are for, as each writer announced."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from aioc_opa.audit.checkpoints import is_signed

if TYPE_CHECKING:
    from aioc_opa.audit.keys import PublicKeys
    from aioc_opa.models.audit_record import AuditRecord, Checkpoint, WriterStarted


class Signatures:
    """Checks the checkpoints of one writer's log, in their order.

    Args:
        writer: whose.
        keys: whom to believe, and for whom.

    Attributes:
        used: ids of keys that have signed, in the order of their first use.
    """

    def __init__(self, writer: str, keys: PublicKeys) -> None:
        self._writer: Final = writer
        self._keys: Final = keys
        self._announced: str | None = None
        self.used: Final[dict[str, None]] = {}

    def announced(self, content: WriterStarted) -> str | None:
        """A writer says which key it signs with from here on; the code of what is wrong with that, if anything is."""
        self._announced = content.key_id
        key = self._keys.get(content.key_id)
        if key is None or base64.b64decode(content.public_key) != key:
            return "unknown_key"
        return None if self._keys.may_sign(content.key_id, self._writer) else "key_of_another_writer"

    def problem(self, record: AuditRecord, content: Checkpoint) -> str | None:
        """The code of what is wrong with a checkpoint; None when it is signed as it should be."""
        key = self._keys.get(content.key_id)
        if key is None:
            return "unknown_key"
        if not is_signed(record, content, key):
            return "bad_signature"
        if not self._keys.may_sign(content.key_id, self._writer):
            return "key_of_another_writer"
        # Where no start was read, one is missing, and that is found anyhow.
        if self._announced not in {None, content.key_id}:
            return "key_not_announced"
        self.used[content.key_id] = None
        return None
