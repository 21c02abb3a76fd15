"""C2SP signed notes (https://c2sp.org/signed-note): a text, an empty line, and who signs it.

Only type ``0x01``, Ed25519 over the text, final line end included. What stands in an anchor's text is in `anchors`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

KEY_NAME: Final = re.compile(r"[\x21-\x2a\x2c-\x7e]{1,128}")
"""The specification forbids Unicode spaces and plus; here a name is ASCII, so that no two look alike."""

MAX_NOTE_BYTES: Final = 8 * 1024 * 1024
_MAX_SIGNATURES: Final = 64
_KEY_HASH_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 64
_SIGNATURE_LINE: Final = re.compile(r"— (\S+) ([A-Za-z0-9+/]+={0,2})")


class NoteError(ValueError):
    """A text is no signed note, or none that a known key has signed. The message holds no part of it."""


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A key that notes are believed by.

    Attributes:
        name: of the key, as signature lines show it.
        public_key: 32 bytes.
    """

    name: str
    public_key: bytes

    @property
    def key_hash(self) -> bytes:
        """``SHA-256(name || 0x0A || 0x01 || public key)[:4]``."""
        return hashlib.sha256(self.name.encode() + b"\n\x01" + self.public_key).digest()[:_KEY_HASH_BYTES]


def signed_note(text: str, key: NoteKey, signature: bytes) -> str:
    """The note of `text`, which `signature` (64 bytes) of `key` is of.

    Raises:
        NoteError: `text` or the key's name cannot stand in a note.
    """
    if not is_note_text(text) or KEY_NAME.fullmatch(key.name) is None:
        raise NoteError("a note is lines without control characters, each with its end; a key's name has no blank or +")
    line = base64.b64encode(key.key_hash + signature).decode("ascii")
    return f"{text}\n— {key.name} {line}\n"


def is_note_text(text: str) -> bool:
    """Whether `text` ends with a line's end and has no other control character."""
    return text.endswith("\n") and not any(character < " " and character != "\n" for character in text)


def opened_note(note: bytes, keys: tuple[NoteKey, ...], verifies: Callable[[bytes, bytes, bytes], bool]) -> str:
    """The text of a note that at least one of `keys` has signed, and none of them wrongly.

    Args:
        note: the bytes.
        keys: whom to believe.
        verifies: whether, of a public key and a message, this is the Ed25519 signature.

    Raises:
        NoteError: it must not be believed.
    """
    if len(note) > MAX_NOTE_BYTES:
        raise NoteError(f"a note has at most {MAX_NOTE_BYTES} bytes")
    try:
        text, empty, signatures = note.decode("utf-8").rpartition("\n\n")
    except UnicodeDecodeError:
        raise NoteError("a note is UTF-8") from None
    text += "\n"
    lines = signatures.removesuffix("\n").split("\n")
    if not empty or not signatures.endswith("\n") or not is_note_text(text) or len(lines) > _MAX_SIGNATURES:
        raise NoteError("the bytes are no signed note")
    believed = False
    for line in lines:
        match = _SIGNATURE_LINE.fullmatch(line)
        if match is None:
            raise NoteError("a signature line is none")
        try:
            raw = base64.b64decode(match[2], validate=True)
        except ValueError:
            raise NoteError("a signature line is none") from None
        for key in keys:
            if key.name != match[1] or key.key_hash != raw[:_KEY_HASH_BYTES]:
                continue
            signature = raw[_KEY_HASH_BYTES:]
            if len(signature) != _SIGNATURE_BYTES or not verifies(key.public_key, text.encode(), signature):
                raise NoteError("the signature of a known key is wrong")
            believed = True
    if not believed:
        raise NoteError("no known key has signed the note")
    return text
