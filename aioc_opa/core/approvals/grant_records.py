"""Helpers of the same names as the TypeScript runtime's, over approvals that an application keeps by itself.

They make **evidence for a policy**, to be put into ``runContext.context``; they are not this package's grants. A record
says no more than that somebody noted an approval of a hash: it is not signed, not bound to a principal, run or policy
revision, and never used up. The approvals of `aioc_opa.approvals` are all that, and end strictly before their expiry.

As there (its RFC on approval evidence, "Grant Validation", "Grant Map Projection"): any ``revokedAt`` ends a record; it
is active at exactly ``expiresAt``; without one, for ever; the newest ``approvedAt`` wins, the first of equals; nothing
is consumed. Stricter than there: every record must be well formed, also revoked ones and those of other hashes, times
are RFC 3339, and null is not the same as absent. What is malformed is an error, and never active.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.json_path import path_key
from aioc_opa.errors import ApprovalError
from aioc_opa.models.approval_grant_record import ApprovalGrantRecord
from aioc_opa.models.approval_request_seed import ApprovalRequestSeed
from aioc_opa.models.suspended_proposal import SuspendedHandoffProposal, SuspendedToolProposal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aioc_opa.core.json_value import JsonObject


class GrantRecordError(ApprovalError):
    """A record, a proposal or a time that cannot be judged. The message names the place, never the value.

    Attributes:
        path: keys and indexes from the argument's root.
    """

    def __init__(self, path: tuple[str | int, ...], problem: str) -> None:
        place = "".join(f"[{part}]" if type(part) is int else f".{part}" for part in path).lstrip(".")
        super().__init__(f"{place}: {problem}")
        self.path = path


def create_approval_request_seed(proposal: SuspendedToolProposal | SuspendedHandoffProposal) -> ApprovalRequestSeed:
    """What an application's own approval request starts from.

    Raises:
        GrantRecordError: `proposal` is not a suspended proposal.
    """
    if isinstance(proposal, SuspendedToolProposal):
        resource_name, payload = proposal.tool_name, proposal.args_canonical_json
    elif isinstance(proposal, SuspendedHandoffProposal):
        resource_name, payload = proposal.to_agent_name, proposal.payload_canonical_json
    else:
        raise GrantRecordError(("proposal",), "a suspended tool or handoff proposal is expected")
    try:
        return ApprovalRequestSeed(
            proposal_hash=proposal.proposal_hash,
            kind=proposal.kind,
            reason=proposal.reason,
            public_reason=proposal.public_reason,
            policy_version=proposal.policy_version,
            expires_at=proposal.expires_at,
            resource_name=resource_name,
            canonical_payload_json=payload,
        )
    except ValidationError as error:
        raise _malformed(("proposal",), error) from None


def is_approval_grant_active(grant: ApprovalGrantRecord | Mapping[str, object], now: datetime) -> bool:
    """Whether a record is neither revoked nor expired at `now`.

    Args:
        grant: a record, or its JSON object.
        now: with its offset from UTC; the caller's clock.

    Raises:
        GrantRecordError: the record or the time is malformed.
    """
    return _active(_record(grant, ("grant",)), _instant(now))


def find_active_approval_grant(
    proposal_hash: str, grants: Iterable[ApprovalGrantRecord | Mapping[str, object]], now: datetime
) -> ApprovalGrantRecord | None:
    """The active record of a proposal with the newest ``approvedAt``.

    Args:
        proposal_hash: of the proposal.
        grants: records, or their JSON objects.
        now: with its offset from UTC.

    Raises:
        GrantRecordError: a record (of any proposal) or the time is malformed.
    """
    return _newest(grants, now).get(proposal_hash)


def to_approved_proposal_hashes(
    grants: Iterable[ApprovalGrantRecord | Mapping[str, object]], now: datetime
) -> list[str]:
    """The hashes with an active record, each once, in the order in which they first come; for a run context.

    Raises:
        GrantRecordError: a record or the time is malformed.
    """
    return list(_newest(grants, now))


def to_active_approval_grant_map(
    grants: Iterable[ApprovalGrantRecord | Mapping[str, object]], now: datetime
) -> dict[str, JsonObject]:
    """The active records by their hash, as JSON objects that share nothing with `grants`; for a run context.

    Raises:
        GrantRecordError: a record or the time is malformed.
    """
    return {
        proposal_hash: json.loads(canonical_text(record.model_dump(mode="json", by_alias=True, exclude_none=True)))
        for proposal_hash, record in _newest(grants, now).items()
    }


def _newest(
    grants: Iterable[ApprovalGrantRecord | Mapping[str, object]], now: datetime
) -> dict[str, ApprovalGrantRecord]:
    instant = _instant(now)
    found: dict[str, ApprovalGrantRecord] = {}
    for index, grant in enumerate(grants):
        record = _record(grant, ("grants", index))
        if not _active(record, instant):
            continue
        known = found.get(record.proposal_hash)
        if known is None or _moment(record.approved_at) > _moment(known.approved_at):
            found[record.proposal_hash] = record
    return found


def _active(record: ApprovalGrantRecord, now: datetime) -> bool:
    if record.revoked_at is not None:
        return False
    return record.expires_at is None or _moment(record.expires_at) >= now


def _record(grant: object, place: tuple[str | int, ...]) -> ApprovalGrantRecord:
    try:
        if isinstance(grant, ApprovalGrantRecord):
            # Once more: `model_construct` and `model_copy` check nothing.
            return ApprovalGrantRecord.model_validate(grant.model_dump(exclude_unset=True))
        if isinstance(grant, Mapping):
            return ApprovalGrantRecord.model_validate(dict(grant), by_alias=True, by_name=False)
    except ValidationError as error:
        raise _malformed(place, error) from None
    raise GrantRecordError(place, "a grant record or its JSON object is expected")


def _malformed(place: tuple[str | int, ...], error: ValidationError) -> GrantRecordError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return GrantRecordError((*place, *(path_key(str(part)) for part in first["loc"])), first["msg"])


def _moment(checked: str) -> datetime:
    """A time of a record, which has been checked to be RFC 3339."""
    return datetime.fromisoformat(checked)


def _instant(now: object) -> datetime:
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise GrantRecordError(("now",), "a datetime with its offset from UTC is expected")
    return now
