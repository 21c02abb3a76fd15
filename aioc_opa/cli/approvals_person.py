"""Who is at the keyboard of an `approvals` command, and the broker that acts in that person's name."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from aioc_opa.cli.approvals_options import opened_store
from aioc_opa.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.approvals.broker import ApprovalBroker
    from aioc_opa.approvals.keys import SigningKey, VoteKeys
    from aioc_opa.approvals.people import PeopleDirectory, Person
    from aioc_opa.cli.approvals_audit import AuditOptions


def authenticated(signing_key: Path, keys: VoteKeys, people: PeopleDirectory) -> tuple[SigningKey, Person]:
    """The person whose key file this is: whoever holds the private half of a registered key, and nobody else.

    Raises:
        InputFileError: the file is refused, or is nobody's key that counts here.
    """
    from aioc_opa.approvals.keys import AccountHolder, PersonHolder, SigningKey  # noqa: PLC0415 - an optional dependency

    key = SigningKey.load(signing_key)
    if not isinstance(key.holder, AccountHolder):
        raise InputFileError(
            f"--signing-key {signing_key}: this is the application's authority, which names no person; use your own "
            "key (`aioc-opa approvals keygen --person ID …`)"
        )
    registered = keys.find(key.key_id)
    if registered is None or registered.public_key != key.public_key or not isinstance(registered.holder, PersonHolder):
        raise InputFileError(
            f"--signing-key {signing_key}: key {key.key_id} is not a person's among --keys; have its public entry added"
        )
    person = people.authenticated(key.holder.issuer, key.holder.subject)
    if person is None or person.person_id != registered.holder.person_id or person.person_id != key.holder.person_id:
        raise InputFileError(
            f"--signing-key {signing_key}: --people has no such account for the person that the key is registered for"
        )
    return key, person


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonOptions:
    """The options of a command that somebody gives in their own name."""

    store: str
    keys: Path
    people: Path
    signing_key: Path
    audit: AuditOptions
    payload_key: Path | None = None

    @contextmanager
    def opened(self) -> Iterator[tuple[ApprovalBroker, SigningKey, Person]]:
        """A broker on the store, and who is at the keyboard. Everything is read before the store is opened.

        Raises:
            InputFileError: a file is refused, or names nobody.
            AuditLogError: the audit log cannot be gone on with.
            ApprovalStoreError: the store cannot be used.
        """
        from aioc_opa.approvals.broker import ApprovalBroker  # noqa: PLC0415 - an optional dependency
        from aioc_opa.approvals.keys import VoteKeys  # noqa: PLC0415 - an optional dependency
        from aioc_opa.approvals.people import PeopleFile  # noqa: PLC0415 - with the rest of the approvals

        keys, people = VoteKeys.from_file(self.keys), PeopleFile(self.people)
        key, person = authenticated(self.signing_key, keys, people)
        with opened_store(self.store, self.payload_key) as store, self.audit.opened(person.person_id) as trail:
            yield ApprovalBroker(store, keys=keys, people=people, audit=trail), key, person


def require_reason(reason: str) -> None:
    """Refuse an empty one before anything is opened.

    Raises:
        typer.BadParameter: there is none.
    """
    if not reason.strip():
        raise typer.BadParameter("--reason: say why; it is recorded")
