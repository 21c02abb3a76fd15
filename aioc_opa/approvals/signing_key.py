"""The private half of a vote key, in a file of its owner. Whoever holds it votes as its holder; a guard never does."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from pydantic import Field

from aioc_opa.approvals.documents import read_document
from aioc_opa.approvals.ed25519 import SEED_BYTES, from_base64, private_key, to_base64
from aioc_opa.approvals.key_holders import MAX_ACCOUNT, AccountHolder, AuthorityHolder, PersonHolder
from aioc_opa.approvals.vote_keys import KEY_ID, VoteKey
from aioc_opa.errors import ConfigurationError, InputFileError
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from collections.abc import Collection

    from aioc_opa.core.json_value import JsonObject


class SigningKey:
    """A key that signs votes, and whose it is.

    Attributes:
        key_id: what votes call it by.
        public_key: 32 bytes.
        holder: the approval authority, or the account of a person whom the key file stands for.
    """

    __slots__ = ("_private", "_seed", "holder", "key_id", "public_key")

    def __init__(self, seed: bytes, *, key_id: str | None, holder: AuthorityHolder | AccountHolder) -> None:
        """Make a key of a seed.

        Args:
            seed: 32 random bytes: the private key (RFC 8032 section 5.1.5).
            key_id: None for one that follows from the public key.
            holder: whose it is.

        Raises:
            ConfigurationError: the seed or the id is none, or the extra `approvals` is not installed.
        """
        if type(seed) is not bytes or len(seed) != SEED_BYTES:
            raise ConfigurationError(f"privateKey: must be {SEED_BYTES} bytes")
        if key_id is not None and KEY_ID.fullmatch(key_id) is None:
            raise ConfigurationError("keyId: 1 to 128 ASCII letters, digits and _.:- after a letter or a digit")
        self._seed: Final = seed
        self._private: Final = private_key(seed)
        self.public_key: Final = self._private.public_key().public_bytes_raw()
        self.key_id: Final = key_id or f"vote-{hashlib.sha256(self.public_key).hexdigest()[:16]}"
        self.holder: Final = holder

    @classmethod
    def generate(cls, *, holder: AuthorityHolder | AccountHolder | None = None, key_id: str | None = None) -> Self:
        """A new key, by default the approval authority's.

        Raises:
            ConfigurationError: as for the class.
        """
        return cls(secrets.token_bytes(SEED_BYTES), key_id=key_id, holder=holder or AuthorityHolder())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The key in a file that `save` wrote: a regular file of this user, of mode 600, no symbolic link.

        Raises:
            InputFileError: it cannot be read, others have rights to it (the message has the ``chmod`` that helps), or
                it is something else; names the place, and no value.
            ConfigurationError: the extra `approvals` is not installed.
        """
        document = read_document(path, _KeyDocument, private=True)
        seed = from_base64(document.private_key, SEED_BYTES)
        if seed is None:
            raise InputFileError(f"{path}: $.privateKey: must be the base64 of {SEED_BYTES} bytes")
        if KEY_ID.fullmatch(document.key_id) is None:
            raise InputFileError(f"{path}: $.keyId: ASCII letters, digits and _.:- after a letter or a digit")
        return cls(seed, key_id=document.key_id, holder=document.holder.holder(path))

    def save(self, path: str | Path) -> None:
        """Write the key to a new file of mode 600; it is whole and on disk when it has this name.

        Raises:
            InputFileError: there is a file already, or it cannot be written.
        """
        target = Path(path)
        holder: JsonObject = {"authority": True}
        if isinstance(self.holder, AccountHolder):
            holder = {
                "personId": self.holder.person_id, "issuer": self.holder.issuer, "subject": self.holder.subject
            }  # fmt: skip
        document = {"keyId": self.key_id, "privateKey": to_base64(self._seed), "holder": holder}
        try:
            _write_new(target, (json.dumps(document, indent=2) + "\n").encode())
        except FileExistsError:
            raise InputFileError(f"{path}: is there already; a key is never written over another") from None
        except (OSError, ValueError) as error:  # ValueError: a null character in the path
            reason = error.strerror if isinstance(error, OSError) else None
            raise InputFileError(f"{path}: cannot be written: {reason or type(error).__name__}") from None

    def sign(self, message: bytes) -> str:
        """The Ed25519 signature of `message`, base64."""
        return to_base64(self._private.sign(message))

    def public_entry(self, *, roles: Collection[str] = ()) -> VoteKey:
        """The public half, for `VoteKeys`; its `to_json` is the entry for the file of keys.

        Args:
            roles: what a person's key is registered for. None for the authority's.

        Raises:
            ConfigurationError: a person's key without a role, or the authority's with one.
        """
        if isinstance(self.holder, AccountHolder):
            return VoteKey(self.key_id, self.public_key, PersonHolder(self.holder.person_id, frozenset(roles)))
        if roles:
            raise ConfigurationError("roles: the authority's key is registered for none: it signs those of the voter")
        return VoteKey(self.key_id, self.public_key, self.holder)

    def __repr__(self) -> str:
        return f"SigningKey(key_id={self.key_id!r}, holder={self.holder!r})"


def _write_new(target: Path, content: bytes) -> None:
    """Write a file that has its name only when it is whole; two writers cannot both win.

    Raises:
        FileExistsError: the name is taken.
        OSError: anything else.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - Path.open cannot take a descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        target.hardlink_to(draft)
    finally:
        with suppress(OSError):
            draft.unlink()


class _Holder(WireModel):
    authority: bool = False
    person_id: Name | None = None
    issuer: str | None = Field(default=None, min_length=1, max_length=MAX_ACCOUNT)
    subject: str | None = Field(default=None, min_length=1, max_length=MAX_ACCOUNT)

    def holder(self, path: str | Path) -> AuthorityHolder | AccountHolder:
        """Whose the key is.

        Raises:
            InputFileError: it is nobody's, or both.
        """
        account = (self.person_id, self.issuer, self.subject)
        if self.authority and account == (None, None, None):
            return AuthorityHolder()
        if not self.authority and self.person_id and self.issuer and self.subject:
            return AccountHolder(self.person_id, self.issuer, self.subject)
        raise InputFileError(f"{path}: $.holder: either authority, or personId, issuer and subject")


class _KeyDocument(WireModel):
    key_id: Name
    private_key: str = Field(max_length=64)
    holder: _Holder
