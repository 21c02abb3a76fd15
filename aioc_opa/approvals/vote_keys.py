"""Public keys of voters, by id: what a guard holds (design 3.5). They check votes, and cannot make one.

To rotate, put the new key beside the old one, let voters change over, and take the old one out (`VoteKeys.replace`,
or a new start): from then on no vote that it signed counts, however old the vote is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import Field

from aioc_opa.approvals.documents import read_document
from aioc_opa.approvals.ed25519 import from_base64, to_base64, verifies
from aioc_opa.approvals.key_holders import AuthorityHolder, PersonHolder
from aioc_opa.core.approvals.ed25519_points import PUBLIC_KEY_BYTES, public_key_problem
from aioc_opa.errors import ConfigurationError, InputFileError
from aioc_opa.models.decision import Role
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject

KEY_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
"""ASCII without blanks: no two ids look alike but by their case, and those are refused side by side."""


@dataclass(frozen=True, slots=True)
class VoteKey:
    """One public key.

    Attributes:
        key_id: what votes call it by.
        public_key: 32 bytes (RFC 8032 section 5.1.2).
        holder: whose votes it may sign.

    Raises:
        ConfigurationError: the id is none, the key is unsound, or a person's key has no person or no role.
    """

    key_id: str
    public_key: bytes
    holder: AuthorityHolder | PersonHolder

    def __post_init__(self) -> None:
        if type(self.key_id) is not str or KEY_ID.fullmatch(self.key_id) is None:
            raise ConfigurationError("keyId: 1 to 128 ASCII letters, digits and _.:- after a letter or a digit")
        if type(self.public_key) is not bytes:
            raise ConfigurationError("publicKey: must be bytes")
        problem = public_key_problem(self.public_key)
        if problem is not None:
            raise ConfigurationError(f"publicKey: {problem}")
        if type(self.holder) is PersonHolder:
            if not self.holder.person_id:
                raise ConfigurationError("personId: empty")
            if type(self.holder.roles) is not frozenset or not self.holder.roles:
                raise ConfigurationError("roles: a person's key needs at least one registered role (a frozenset)")
        elif type(self.holder) is not AuthorityHolder:
            raise ConfigurationError("holder: the authority or a person")

    def verifies(self, message: bytes, signature: str) -> bool:
        """Whether `signature` (base64) is this key's for `message`."""
        return verifies(self.public_key, message, signature)

    def to_json(self) -> JsonObject:
        """The key as an entry of the file that `VoteKeys.from_file` reads."""
        entry: JsonObject = {"keyId": self.key_id, "publicKey": to_base64(self.public_key)}
        if isinstance(self.holder, PersonHolder):
            return {**entry, "personId": self.holder.person_id, "roles": [*sorted(self.holder.roles)]}
        return {**entry, "authority": True}


class VoteKeys:
    """The public keys whose votes count. Thread-safe.

    Raises:
        ConfigurationError: two keys have one id, or ids that differ only in case, or one public key has two ids.
    """

    __slots__ = ("_keys",)

    def __init__(self, entries: Iterable[VoteKey]) -> None:
        self._keys = _by_id(tuple(entries))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """The keys in a JSON file, as it is now.

        ``{"keys": [{"keyId", "publicKey": base64, "authority": true}, {"keyId", "publicKey", "personId", "roles"}]}``

        Raises:
            InputFileError: it cannot be read, others may write or replace it, or it is something else; names the place.
        """
        document = read_document(path, _KeysDocument)
        try:
            return cls([_vote_key(entry, f"keys[{index}]") for index, entry in enumerate(document.keys)])
        except ConfigurationError as error:
            raise InputFileError(f"{path}: $.{error}") from None

    def find(self, key_id: str) -> VoteKey | None:
        """The key of exactly this id."""
        return self._keys.get(key_id)

    def replace(self, entries: Iterable[VoteKey]) -> None:
        """Hold these keys and no others from now on, in one step: how a running guard rotates.

        Raises:
            ConfigurationError: as for a new `VoteKeys`; nothing has changed then.
        """
        self._keys = _by_id(tuple(entries))

    def __iter__(self) -> Iterator[VoteKey]:
        return iter(tuple(self._keys.values()))

    def __len__(self) -> int:
        return len(self._keys)


def _by_id(entries: tuple[VoteKey, ...]) -> dict[str, VoteKey]:
    ids: set[str] = set()
    publics: set[bytes] = set()
    for index, entry in enumerate(entries):
        if entry.key_id.lower() in ids:
            raise ConfigurationError(f"keys[{index}].keyId: another key has this id, or one that differs only in case")
        if entry.public_key in publics:
            raise ConfigurationError(f"keys[{index}].publicKey: this key stands here under another id")
        ids.add(entry.key_id.lower())
        publics.add(entry.public_key)
    return {entry.key_id: entry for entry in entries}


class _KeyEntry(WireModel):
    key_id: Name
    public_key: str = Field(max_length=64)
    authority: bool = False
    person_id: Name | None = None
    roles: Annotated[tuple[Role, ...], Field(min_length=1, max_length=64, strict=False)] | None = None


class _KeysDocument(WireModel):
    keys: tuple[_KeyEntry, ...] = Field(strict=False)


def _vote_key(entry: _KeyEntry, place: str) -> VoteKey:
    holder: AuthorityHolder | PersonHolder
    if entry.authority and entry.person_id is None and entry.roles is None:
        holder = AuthorityHolder()
    elif not entry.authority and entry.person_id is not None and entry.roles is not None:
        holder = PersonHolder(entry.person_id, frozenset(entry.roles))
    else:
        raise ConfigurationError(f"{place}: either authority, or personId and roles")
    public_key = from_base64(entry.public_key, PUBLIC_KEY_BYTES)
    if public_key is None:
        raise ConfigurationError(f"{place}.publicKey: must be the base64 of {PUBLIC_KEY_BYTES} bytes")
    try:
        return VoteKey(entry.key_id, public_key, holder)
    except ConfigurationError as error:
        raise ConfigurationError(f"{place}.{error}") from None
