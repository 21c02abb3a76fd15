"""The key that signs a writer's checkpoints and notes, and the public keys that a reader believes."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from pydantic import Field

from aioc_opa.approvals.documents import read_document
from aioc_opa.approvals.ed25519 import SEED_BYTES, from_base64, private_key, to_base64
from aioc_opa.audit.new_files import write_new_file
from aioc_opa.core.approvals.ed25519_points import PUBLIC_KEY_BYTES, public_key_problem
from aioc_opa.errors import ConfigurationError, InputFileError
from aioc_opa.models.approval_vote_statement import KeyId
from aioc_opa.models.audit_record import PublicKey, WriterName
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from aioc_opa.core.json_value import JsonObject

_PRIVATE_MODE: Final = 0o600
_PUBLIC_MODE: Final = 0o644


class AuditKey:
    """A private key of an audit log. Keep it apart from the keys that sign votes.

    Attributes:
        key_id: what checkpoints call it by; follows from the public key.
        public_key: 32 bytes.
        writers: names of the writers whose log it may sign; empty for any. An `AuditTrail` of another name refuses it.
    """

    __slots__ = ("_private", "_seed", "key_id", "public_key", "writers")

    def __init__(self, seed: bytes, *, writers: Sequence[str] = ()) -> None:
        """Make a key of 32 random bytes (RFC 8032 section 5.1.5).

        Raises:
            ConfigurationError: the seed is none, or the extra `approvals` is not installed.
        """
        if type(seed) is not bytes or len(seed) != SEED_BYTES:
            raise ConfigurationError(f"an audit key is made of {SEED_BYTES} bytes")
        self._seed: Final = seed
        self._private: Final = private_key(seed)
        self.public_key: Final = self._private.public_key().public_bytes_raw()
        self.key_id: Final = key_id_of(self.public_key)
        self.writers: Final = tuple(writers)

    @classmethod
    def generate(cls, *, writers: Sequence[str] = ()) -> Self:
        """A new key.

        Raises:
            ConfigurationError: the extra `approvals` is not installed.
        """
        return cls(secrets.token_bytes(SEED_BYTES), writers=writers)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The key in a file that `save` wrote: a regular file of this user, of mode 600.

        Raises:
            InputFileError: it cannot be read, others have rights to it, or it is something else.
            ConfigurationError: the extra `approvals` is not installed.
        """
        document = read_document(path, _KeyDocument, private=True)
        seed = from_base64(document.audit_key, SEED_BYTES)
        if seed is None:
            raise InputFileError(f"{path}: $.auditKey: must be the base64 of {SEED_BYTES} bytes")
        return cls(seed, writers=document.writers)

    def save(self, path: str | Path) -> None:
        """Write the key to a new file of mode 600.

        Raises:
            InputFileError: there is a file already, or it cannot be written.
        """
        document: JsonObject = {"auditKey": to_base64(self._seed)}
        write_new_file(Path(path), _document(self._with_writers(document)), mode=_PRIVATE_MODE)

    def save_public(self, path: str | Path) -> None:
        """Write the public half to a new file, as `read_public_keys` takes it.

        Raises:
            InputFileError: there is a file already, or it cannot be written.
        """
        write_new_file(Path(path), _document({"keys": [self.public_entry()]}), mode=_PUBLIC_MODE)

    def public_entry(self) -> JsonObject:
        """The public half, as an entry of a file of public keys, with the writers that the key is for."""
        return self._with_writers({"keyId": self.key_id, "publicKey": to_base64(self.public_key)})

    def _with_writers(self, document: JsonObject) -> JsonObject:
        return {**document, "writers": [*self.writers]} if self.writers else document

    def sign(self, message: bytes) -> str:
        """The Ed25519 signature of `message`, base64."""
        return to_base64(self._private.sign(message))

    def sign_raw(self, message: bytes) -> bytes:
        """The Ed25519 signature of `message`, 64 bytes."""
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"AuditKey(key_id={self.key_id!r})"


def key_id_of(public_key: bytes) -> str:
    """The id of the key with this public half."""
    return f"audit-{hashlib.sha256(public_key).hexdigest()[:16]}"


class PublicKeys(dict[str, bytes]):
    """Public keys that a reader believes, by id.

    Args:
        keys: 32 bytes by id.
        writers: by the id of a key, the writers whose checkpoints it may sign; one that is not in it may sign for any.
    """

    def __init__(
        self, keys: Mapping[str, bytes], writers: Mapping[str, Collection[str]] = MappingProxyType({})
    ) -> None:
        super().__init__(keys)
        self._writers: Final = {key_id: frozenset(names) for key_id, names in writers.items()}

    def may_sign(self, key_id: str, writer: str) -> bool:
        """Whether a key is for the checkpoints of a writer. An anchor names many writers, and may be any key's."""
        names = self._writers.get(key_id)
        return names is None or writer in names


def read_public_keys(*paths: str | Path) -> PublicKeys:
    """The public keys in files ``{"keys": [{"keyId", "publicKey", "writers"?}, …]}``, by id.

    Raises:
        InputFileError: one cannot be read, or a key is none, or its id is not that of the key, or it is there twice.
    """
    found: dict[str, bytes] = {}
    where: dict[str, str | Path] = {}
    writers: dict[str, tuple[str, ...]] = {}
    for path in paths:
        for index, entry in enumerate(read_document(path, _PublicKeys).keys):
            key = base64.b64decode(entry.public_key)
            problem = public_key_problem(key) if len(key) == PUBLIC_KEY_BYTES else "it has another length"
            if problem is None and entry.key_id != key_id_of(key):
                problem = "keyId is not that of the key"
            if problem is None and entry.key_id in found:
                problem = f"this key is in {where[entry.key_id]} already; one entry names all its writers"
            if problem is not None:
                raise InputFileError(f"{path}: $.keys[{index}]: {problem}")
            found[entry.key_id], where[entry.key_id] = key, path
            if entry.writers:
                writers[entry.key_id] = entry.writers
    return PublicKeys(found, writers)


def public_keys_of(*keys: AuditKey) -> Mapping[str, bytes]:
    """The public halves of `keys`, by id."""
    return {key.key_id: key.public_key for key in keys}


def _document(value: JsonObject) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


class _KeyDocument(WireModel):
    audit_key: str = Field(max_length=64)
    writers: tuple[WriterName, ...] = Field(default=(), min_length=1, max_length=1024, strict=False)


class _PublicEntry(WireModel):
    key_id: KeyId
    public_key: PublicKey
    writers: tuple[WriterName, ...] = Field(default=(), min_length=1, max_length=1024, strict=False)


class _PublicKeys(WireModel):
    keys: tuple[_PublicEntry, ...] = Field(min_length=1, max_length=1024, strict=False)
