"""Whose a key is."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    person_id: str
    issuer: str
    subject: str
