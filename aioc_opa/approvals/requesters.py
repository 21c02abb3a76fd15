"""Who asked for a call: the persons that may not approve it under separation of duties (design 3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aioc_opa.approvals.people import PeopleDirectory
    from aioc_opa.models.approval_bindings import ApprovalBindings


class UnknownRequesterError(Exception):
    """A requester is neither a person nor a service that the directory knows: it could be anybody, voters included."""


def requesters_of(bindings: ApprovalBindings, people: PeopleDirectory) -> tuple[str, ...]:
    """Person ids (or names of services) of the principal, everybody it acts for, and who started the run.

    Raises:
        UnknownRequesterError: one of them cannot be resolved, or there is no principal at all.
    """
    if bindings.identity is None:
        raise UnknownRequesterError("the call has no principal")
    identities = [bindings.identity, *(bindings.on_behalf_of or ())]
    if bindings.run_started_by is not None:
        identities.append(bindings.run_started_by)
    resolved = set()
    for identity in identities:
        who = people.requester(identity, bindings.tenant)
        if not (isinstance(who, str) and who):  # a directory may be the application's: what is no id is nobody known
            raise UnknownRequesterError("an identity behind the call is no person and no service of the directory")
        resolved.add(who)
    return tuple(sorted(resolved))
