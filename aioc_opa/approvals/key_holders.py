"""Whose a key is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aioc_opa.errors import ConfigurationError

MAX_PERSON_ID: Final = 128
MAX_ACCOUNT: Final = 512
"""Characters of an issuer, and of a subject."""


@dataclass(frozen=True, slots=True)
class AuthorityHolder:
    """The application's approval authority: it signs for any person, after authenticating that person itself."""


@dataclass(frozen=True, slots=True)
class PersonHolder:
    """A person, on the side that verifies.

    Attributes:
        person_id: the only voter that the key may sign for.
        roles: the only roles that a vote by this key may carry.
    """

    person_id: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class AccountHolder:
    """A person, on the side that signs.

    Attributes:
        person_id: who the key was made for.
        issuer: of the account that stands for this person when the key is used to authenticate.
        subject: the account's name at that issuer.

    Raises:
        ConfigurationError: one of them is empty or too long.
    """

    person_id: str
    issuer: str
    subject: str

    def __post_init__(self) -> None:
        for name, value, longest in (
            ("personId", self.person_id, MAX_PERSON_ID),
            ("issuer", self.issuer, MAX_ACCOUNT),
            ("subject", self.subject, MAX_ACCOUNT),
        ):
            if not 1 <= len(value) <= longest:
                raise ConfigurationError(f"{name}: 1 to {longest} characters")
