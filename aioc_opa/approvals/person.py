"""Who is who: from an account to a person, from a person to roles, from an identity to who asks (design 3.5).

The application's authentication says (issuer, subject); the directory says which person that is. A person is one
person through however many accounts. What a directory does not know is None, and then counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from aioc_opa.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Person:
    """A person as the directory has it now.

    Attributes:
        person_id: stable id, 1 to 128 characters; what votes and requesters are compared by.
        roles: what the person may decide about.
        tenants: whose requests the person may see and decide about; None for every tenant, and for calls without one.

    Raises:
        ConfigurationError: a string stands where a set of strings must.
    """

    person_id: str
    roles: frozenset[str]
    tenants: frozenset[str] | None = None

    def __post_init__(self) -> None:
        # A str is a collection too, of its characters, and `in` would find parts of it.
        given: tuple[object, ...] = (self.roles, self.tenants)
        if any(isinstance(one, str) for one in given):
            raise ConfigurationError("a person's roles and tenants are sets of strings, not a string")
        object.__setattr__(self, "roles", frozenset(self.roles))
        if self.tenants is not None:
            object.__setattr__(self, "tenants", frozenset(self.tenants))

    def serves(self, tenant: str | None) -> bool:
        """Whether the person belongs to `tenant` (None or the empty string: the call has none)."""
        return self.tenants is None or (bool(tenant) and tenant in self.tenants)


@runtime_checkable
class PeopleDirectory(Protocol):
    """What the broker asks about people. Thread-safe. What it raises counts as not known."""

    def authenticated(self, issuer: str, subject: str) -> Person | None:
        """The person whose account this is; None when nobody's."""
        ...

    def current(self, person_id: str) -> Person | None:
        """The person as of now; None when there is none of this id any more."""
        ...

    def requester(self, identity: str, tenant: str | None) -> str | None:
        """Who stands behind an identity that a principal uses in `tenant`.

        Returns:
            A person id; for a known service, which is no person, its own name; None when it could be anybody.
        """
        ...


def person_now(people: PeopleDirectory, person_id: str) -> Person | None:
    """The person of exactly this id, as of now.

    A directory that takes ``Ann`` and ``ann`` for one would make two voters of one person: votes and requesters are
    compared by id, so only the id that the directory itself gives counts.
    """
    found = people.current(person_id)
    return found if isinstance(found, Person) and found.person_id == person_id else None
