"""What a reviewer is to see of a held call, checked against what the approval is bound to (design 3.5).

The hash is computed anew from the very text that is shown, so that nobody approves one thing while looking at
another: whoever can write to the store can change the action, but not its hash. What the hash does not cover (the
policy's sentence, the tool's description, what the model asked for) is shown as what it is: text from the store.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from aioc_opa.core.approvals.digests import review_hash, terms_digest
from aioc_opa.core.approvals.review_diff import Difference, differences
from aioc_opa.core.approvals.review_findings import Finding, findings
from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, MAX_SAFE_INTEGER, JsonLimits
from aioc_opa.core.strict_json import decode_object
from aioc_opa.errors import ApprovalError
from aioc_opa.models.stored_call import StoredCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.models.approval_vote_statement import VoteStatement

_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_depth=HARD_MAX_DEPTH, max_nodes=HARD_MAX_NODES)
"""Of what a store holds: a guard's own limits are lower."""

_SUSPECT: Final = (
    "Approve nothing of it, end it with `aioc-opa approvals dismiss`, and find out who writes to the store"
)


class ReviewRefusedError(ApprovalError):
    """A held call cannot be shown for review: what is stored is gone, or is not what the approval is bound to.

    Attributes:
        code: ``arguments_gone``, ``payload_unreadable``, ``hash_mismatch``, ``terms_mismatch`` or ``tenant_mismatch``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementStatus:
    """One requirement of the terms, and who has met it so far.

    Attributes:
        code: the verdict's code.
        roles: any of these may vote.
        quorum: how many distinct persons it takes.
        persons: who has approved in one of the roles.
    """

    code: str
    roles: tuple[str, ...]
    quorum: int
    persons: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether there are enough of them."""
        return len(self.persons) >= self.quorum


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A held call as it may be shown: its hash is the bound one.

    Attributes:
        record: the approval.
        call: what the store holds of the call.
        action: the parsed arguments: what would run.
        requested: what the model asked for, decoded from its own text.
        differences: between the two.
        findings: characters that need attention, in all that is shown.
        votes: verified by the caller.
        requirements: what approving takes, and how far it is.
        computed_hash: from what is shown; equal to the bound hash.
        review_hash: of everything that a vote on it is signed over, and of the texts beside it (`digests.review_hash`).
        now_ms: the store's clock.
    """

    record: ApprovalRecord
    call: StoredCall
    action: JsonValue
    requested: JsonObject
    differences: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    votes: tuple[VoteStatement, ...]
    requirements: tuple[RequirementStatus, ...]
    computed_hash: str
    review_hash: str
    now_ms: int

    @property
    def suspicious(self) -> bool:
        """Whether any finding is one that can mislead."""
        return any(finding.suspicious for finding in self.findings)


def review_of(record: ApprovalRecord, votes: Sequence[VoteStatement], *, now_ms: int) -> Review:
    """The review of an approval.

    Args:
        record: with its payload.
        votes: the record's votes, verified (`approvals.votes.verified_votes`).
        now_ms: the store's clock, milliseconds since 1970.

    Raises:
        ReviewRefusedError: it cannot be reviewed; says why and what to do.
    """
    if record.payload is None:
        raise ReviewRefusedError(
            "arguments_gone",
            "the stored arguments were removed (retention or deletion): nothing is there to review, and `show --json` "
            "has what is left",
        )
    try:
        call = StoredCall.model_validate(decode_object(record.payload, _LIMITS))
        action = canonical_value(call.args_canonical_json)
        requested = decode_object(call.raw_arguments, _LIMITS, empty_arguments="object")
        for at_ms in (record.created_at_ms, record.expires_at_ms, record.ended_at_ms or 0):
            rfc3339_of_ms(at_ms)
        of_review = review_hash(record, call)
    except (ValueError, ValidationError):  # their messages can hold values
        raise ReviewRefusedError(
            "payload_unreadable", f"the stored call is not what a guard writes. {_SUSPECT}"
        ) from None
    bindings = record.bindings
    computed = tool_proposal_hash(
        agent_name=bindings.agent_name, tool_name=bindings.tool_name, args_canonical_json=call.args_canonical_json
    )
    if computed != bindings.proposal_hash:
        raise ReviewRefusedError(
            "hash_mismatch", f"the stored arguments are not those that the approval is bound to. {_SUSPECT}"
        )
    if terms_digest(record.terms) != bindings.terms_digest:
        raise ReviewRefusedError("terms_mismatch", f"the stored terms are not those that it is bound to. {_SUSPECT}")
    if record.tenant != (bindings.tenant or ""):
        raise ReviewRefusedError(
            "tenant_mismatch", f"it is stored under another tenant than it is bound to. {_SUSPECT}"
        )
    return Review(
        record=record,
        call=call,
        action=action,
        requested=requested,
        differences=differences(requested, action),
        findings=_findings(record, call, action, requested, votes),
        votes=tuple(votes),
        requirements=_requirements(record, votes),
        computed_hash=computed,
        review_hash=of_review,
        now_ms=now_ms,
    )


def canonical_value(text: str) -> JsonValue:
    """The value that an RFC 8785 text is of. Strict JSON does not do here: 1e16 is written as an integer beyond 2^53.

    Raises:
        ValueError: it is not the canonical text of anything; no value is in the message.
    """
    try:
        value: JsonValue = json.loads(text, parse_int=_number, parse_constant=_number)
        # Equality is what refuses: duplicate keys, blanks, other escapes and other numbers do not come out the same.
        if canonical_text(value) == text:
            return value
    except (ValueError, RecursionError):
        pass
    raise ValueError("the text is not canonical JSON")


def _number(token: str) -> int | float:
    number = float(token)
    return int(token) if abs(number) <= MAX_SAFE_INTEGER else number


def _requirements(record: ApprovalRecord, votes: Sequence[VoteStatement]) -> tuple[RequirementStatus, ...]:
    barred = frozenset(record.requesters) if record.terms.separation_of_duties else frozenset[str]()
    approving = [vote for vote in votes if vote.verdict == "approved" and vote.person_id not in barred]
    return tuple(
        RequirementStatus(
            code=each.code,
            roles=each.approver_roles,
            quorum=each.quorum,
            persons=tuple(
                sorted({vote.person_id for vote in approving if not set(each.approver_roles).isdisjoint(vote.roles)})
            ),
        )
        for each in record.terms.requirements
    )


def _findings(
    record: ApprovalRecord,
    call: StoredCall,
    action: JsonValue,
    requested: JsonObject,
    votes: Sequence[VoteStatement],
) -> tuple[Finding, ...]:
    bindings = record.bindings
    # What stands in the action is not reported twice: of the request only what is shown, the differences.
    found = [*findings("action", action)]
    for each in differences(requested, action):
        if each.kind != "added":
            found += findings("requested", each.requested, each.path)
    texts: tuple[tuple[str, JsonValue], ...] = (
        ("tool", bindings.tool_name),
        ("toolDescription", call.tool_description),
        ("agentName", bindings.agent_name),
        ("identity", bindings.identity),
        ("tenant", bindings.tenant),
        ("onBehalfOf", list(bindings.on_behalf_of or ())),
        ("runStartedBy", bindings.run_started_by),
        ("runId", bindings.run_id),
        ("callId", bindings.call_id),
        ("toolVersion", bindings.tool_version),
        ("policyRevision", bindings.policy_revision),
        ("publicReason", call.public_reason),
        ("metadata", call.metadata),
        ("approverRoles", [role for each in record.terms.requirements for role in each.approver_roles]),
        ("requesters", list(record.requesters)),
        ("votes", [[vote.person_id, *vote.roles, vote.reason] for vote in votes]),
        ("endReason", [record.ended_by, record.end_reason]),
    )
    for source, value in texts:
        found += findings(source, value)
    return tuple(found)
