"""Anchors: the latest checkpoint of every writer, signed, and kept where the log's writers cannot reach.

A log proves nothing about its own end: whoever can write it can cut it, and whoever has its key can write it anew. What
an anchor names cannot be taken back by either.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from typing import TYPE_CHECKING, Final

from aioc_opa.approvals.ed25519 import to_base64, verifies
from aioc_opa.approvals.webhook_request import Answered, Attempt, check_url
from aioc_opa.approvals.webhook_signature import check_secret, signature_header
from aioc_opa.audit.new_files import write_new_file
from aioc_opa.audit.regular_files import open_regular
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.audit.anchors import anchor_of, anchor_text
from aioc_opa.core.audit.notes import MAX_NOTE_BYTES, NoteError, NoteKey, opened_note, signed_note
from aioc_opa.errors import ConfigurationError, InputFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from aioc_opa.audit.keys import AuditKey
    from aioc_opa.core.audit.anchors import Anchor, AnchoredHead

DEFAULT_KEY_NAME: Final = "aioc-opa/audit"
_MODE: Final = 0o644
_OK: Final = range(200, 300)


class AnchorNotSentError(Exception):
    """The receiver has not taken the anchor. The message has its origin, and a status or the class of an error."""


def make_anchor(heads: Collection[AnchoredHead], key: AuditKey, *, key_name: str = DEFAULT_KEY_NAME) -> str:
    """A signed note of the latest checkpoint of every writer.

    Args:
        heads: of a verification that found nothing (`VerificationReport.checkpoints`).
        key: signs the note. One that no writer has makes the anchor a second opinion.
        key_name: of the key in the note: ASCII without blanks and ``+``, better with a domain of yours.

    Raises:
        ConfigurationError: `key_name` cannot stand in a note.
        InputFileError: no writer has a checkpoint.
    """
    if not heads:
        raise InputFileError("there is no checkpoint to anchor: a writer signs after a while, and when it is closed")
    text = anchor_text(rfc3339_of_ms(time.time_ns() // 1_000_000), heads)
    try:
        return signed_note(text, NoteKey(key_name, key.public_key), key.sign_raw(text.encode()))
    except NoteError as error:
        raise ConfigurationError(str(error)) from None


def write_anchor(note: str, path: Path) -> None:
    """Write an anchor to a new file.

    Raises:
        InputFileError: there is one already, or it cannot be written.
    """
    write_new_file(path, note.encode(), mode=_MODE)


def send_anchor(
    note: str, url: str, secret: bytes, *, timeout_seconds: float = 15.0, ca_file: Path | str | None = None
) -> None:
    """Post an anchor, signed as Standard Webhooks 1.0.0 has it.

    The body is ``{"type": "audit.anchor", "timestamp", "data": {"note"}}``.

    Args:
        note: the anchor.
        url: https; http to a loopback address only.
        secret: 24 to 64 bytes, shared with the receiver.
        timeout_seconds: for all of it.
        ca_file: authorities to trust instead of the system's.

    Raises:
        ConfigurationError: `url` or `secret` is none.
        AnchorNotSentError: the receiver has not taken it.
    """
    origin = check_url(url)
    check_secret(secret)
    now_ms = time.time_ns() // 1_000_000
    message = {"type": "audit.anchor", "timestamp": rfc3339_of_ms(now_ms), "data": {"note": note}}
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    webhook_id, timestamp = f"anchor_{secrets.token_hex(16)}", now_ms // 1000
    headers = {
        "content-type": "application/json",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature_header([secret], webhook_id=webhook_id, timestamp=timestamp, body=body),
    }
    attempt = Attempt(url, headers=headers, body=body, timeout_seconds=timeout_seconds, ca_file=ca_file)
    answer = attempt.run()
    if not isinstance(answer, Answered):
        raise AnchorNotSentError(f"{origin}: {answer}")
    if answer.status not in _OK:
        raise AnchorNotSentError(f"{origin}: status {answer.status}")


def read_anchor(path: Path, keys: Mapping[str, bytes], *, key_name: str = DEFAULT_KEY_NAME) -> Anchor:
    """The anchor in a file, if one of `keys` has signed it under `key_name`.

    Raises:
        InputFileError: it cannot be read, is no anchor, or must not be believed.
        ConfigurationError: the extra `approvals` is not installed.
    """
    try:
        with open_regular(path, follow=True) as file:
            note = file.read(MAX_NOTE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{path}: cannot be read: {reason or type(error).__name__}") from None
    believed = tuple(NoteKey(key_name, key) for key in keys.values())
    try:
        return anchor_of(opened_note(note, believed, _verifies))
    except ValueError as error:
        raise InputFileError(f"{path}: {error}") from None


def note_verifier_key(key: NoteKey) -> str:
    """The key as other tools for signed notes take it: ``name+hash+base64(0x01 || public key)``."""
    encoded = base64.b64encode(b"\x01" + key.public_key).decode("ascii")
    return f"{key.name}+{key.key_hash.hex()}+{encoded}"


def _verifies(public_key: bytes, message: bytes, signature: bytes) -> bool:
    return verifies(public_key, message, to_base64(signature))
