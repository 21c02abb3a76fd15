"""A directory of people in memory, made in code or from a JSON file."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import Field

from aioc_opa.approvals.documents import read_document
from aioc_opa.approvals.person import Person
from aioc_opa.errors import ConfigurationError, InputFileError
from aioc_opa.models.decision import Role
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MAX_ROLES: Final = 64
"""As many as a vote can carry (`VoteStatement`)."""


@dataclass(frozen=True, slots=True)
class PersonEntry:
    """A person and what leads to this person.

    Attributes:
        person: id, roles and tenants.
        accounts: (issuer, subject) pairs by which the application's authentication knows the person.
        identities: names that principals use for the person.
    """

    person: Person
    accounts: tuple[tuple[str, str], ...] = ()
    identities: tuple[str, ...] = ()


class PeopleTable:
    """A `PeopleDirectory` that does not change.

    An account belongs to one person; an identity to one person or service. Ids and names of different people must not
    differ only by case or by Unicode's compatibility forms: that is how one person becomes two. Looking up is exact.

    Args:
        people: everybody who may vote or ask.
        services: identities that are known not to be a person, such as a bot that acts for itself.

    Raises:
        ConfigurationError: one of these rules is broken; says where.
    """

    def __init__(self, people: Iterable[PersonEntry], services: Iterable[str] = ()) -> None:
        self._people: Final[dict[str, Person]] = {}
        self._accounts: Final[dict[tuple[str, str], Person]] = {}
        self._identities: Final[dict[str, Person]] = {}
        names = _strings("services", services)
        self._services: Final = frozenset(names)
        owners = _Owners()
        entries = tuple(people)
        for index, entry in enumerate(entries):
            owners.take(entry.person.person_id, index, f"people[{index}].personId")
        for index, service in enumerate(names):
            owners.take(service, f"service {index}", f"services[{index}]")
        for index, entry in enumerate(entries):
            self._add(entry, index, owners)

    def authenticated(self, issuer: str, subject: str) -> Person | None:
        """The person whose account this is; None when nobody's."""
        return self._accounts.get((issuer, subject))

    def current(self, person_id: str) -> Person | None:
        """The person of this id."""
        return self._people.get(person_id)

    def requester(self, identity: str, tenant: str | None) -> str | None:
        """The id of the person who uses `identity`, when that person belongs to `tenant`; a service's own name."""
        if identity in self._services:
            return identity
        person = self._identities.get(identity)
        return person.person_id if person is not None and person.serves(tenant) else None

    def _add(self, entry: PersonEntry, index: int, owners: _Owners) -> None:
        place = f"people[{index}]"
        person = entry.person
        if len(person.roles) > _MAX_ROLES:
            raise ConfigurationError(f"{place}.roles: at most {_MAX_ROLES}")
        _strings(f"{place}.roles", person.roles)
        _strings(f"{place}.tenants", person.tenants or ())
        self._people[person.person_id] = person
        for number, account in enumerate(entry.accounts):
            if not all(type(part) is str and part for part in account) or len(account) != 2:  # noqa: PLR2004 - a pair
                raise ConfigurationError(f"{place}.accounts[{number}]: an issuer and a subject, neither empty")
            if account in self._accounts:
                raise ConfigurationError(f"{place}.accounts[{number}]: this account stands here already")
            self._accounts[account] = person
        for number, identity in enumerate(_strings(f"{place}.identities", entry.identities)):
            owners.take(identity, index, f"{place}.identities[{number}]")
            self._identities[identity] = person


class PeopleFile(PeopleTable):
    """A `PeopleTable` from a JSON file, read once.

    ``{"people": [{"personId", "roles", "tenants"?, "accounts": [{"issuer", "subject"}], "identities": […]}],
    "services": […]}``

    Raises:
        InputFileError: it cannot be read, others may write or replace it, or it is something else; names the place.
    """

    def __init__(self, path: str | Path) -> None:
        document = read_document(path, _PeopleDocument)
        try:
            super().__init__([entry.entry() for entry in document.people], document.services)
        except ConfigurationError as error:
            raise InputFileError(f"{path}: $.{error}") from None


class _Owners:
    """Names that are taken, as they look, and by whom."""

    def __init__(self) -> None:
        self._owners: dict[str, object] = {}

    def take(self, name: str, owner: object, place: str) -> None:
        """Note that `name` is `owner`'s.

        Raises:
            ConfigurationError: it is somebody else's, or no name.
        """
        _strings(place, (name,))
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        if self._owners.setdefault(folded, owner) != owner:
            raise ConfigurationError(f"{place}: this name, or one that looks like it, belongs to another one here")


def _strings(place: str, values: Iterable[str]) -> tuple[str, ...]:
    """`values`, each a name of 1 to 128 characters without blanks at its ends and without control characters."""
    if isinstance(values, str):
        raise ConfigurationError(f"{place}: strings, not a string")
    found = tuple(values)
    for value in found:
        if type(value) is not str or not 1 <= len(value) <= 128:  # noqa: PLR2004 - `Name`'s bounds
            raise ConfigurationError(f"{place}: names have 1 to 128 characters")
        if value != value.strip() or not value.isprintable():
            raise ConfigurationError(f"{place}: a name has blanks at an end, or invisible characters")
    if len(set(found)) != len(found):
        raise ConfigurationError(f"{place}: one stands twice")
    return found


class _Account(WireModel):
    issuer: str = Field(min_length=1, max_length=512)
    subject: str = Field(min_length=1, max_length=512)


class _PersonEntry(WireModel):
    person_id: Name
    roles: tuple[Role, ...] = Field(max_length=_MAX_ROLES, strict=False)
    tenants: tuple[Name, ...] | None = Field(default=None, max_length=1024, strict=False)
    accounts: tuple[_Account, ...] = Field(default=(), max_length=64, strict=False)
    identities: tuple[Name, ...] = Field(default=(), max_length=64, strict=False)

    def entry(self) -> PersonEntry:
        return PersonEntry(
            Person(self.person_id, frozenset(self.roles), None if self.tenants is None else frozenset(self.tenants)),
            tuple((account.issuer, account.subject) for account in self.accounts),
            self.identities,
        )


class _PeopleDocument(WireModel):
    people: tuple[_PersonEntry, ...] = Field(strict=False)
    services: tuple[Name, ...] = Field(default=(), strict=False)
