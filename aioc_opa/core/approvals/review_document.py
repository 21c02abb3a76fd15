"""A review as one JSON document, for programs. Nothing is cut; it holds argument values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aioc_opa.core.approvals.review_tree import place
from aioc_opa.core.approvals.times import rfc3339_of_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.core.approvals.review import Review
    from aioc_opa.core.json_value import JsonObject, JsonValue
    from aioc_opa.models.approval_vote_statement import VoteStatement


def summary(record: ApprovalRecord) -> JsonObject:
    """What lists show of an approval: nothing of its arguments."""
    bindings = record.bindings
    return {
        "approvalId": record.approval_id,
        "state": record.state.value,
        "tenant": bindings.tenant,
        "toolName": bindings.tool_name,
        "toolVersion": bindings.tool_version,
        "agentName": bindings.agent_name,
        "identity": bindings.identity,
        "runId": bindings.run_id,
        "callId": bindings.call_id,
        "reason": record.reason,
        "reasons": list(record.reasons),
        "proposalHash": bindings.proposal_hash,
        "createdAt": rfc3339_of_ms(record.created_at_ms),
        "expiresAt": rfc3339_of_ms(record.expires_at_ms),
        "endedAt": None if record.ended_at_ms is None else rfc3339_of_ms(record.ended_at_ms),
        "endedBy": record.ended_by,
        "endReason": record.end_reason,
        "outcome": record.outcome,
        "votes": len(record.votes),
    }


def without_arguments(record: ApprovalRecord, votes: Sequence[VoteStatement]) -> JsonObject:
    """What is left of an approval whose arguments were removed: for auditors; nobody can decide on it."""
    return {
        **summary(record),
        "argumentsRemoved": True,
        "bindings": record.bindings.model_dump(mode="json", by_alias=True),
        "separationOfDuties": record.terms.separation_of_duties,
        "requesters": list(record.requesters),
        "votes": _votes(votes),
    }


def document(review: Review) -> JsonObject:
    """All of a review."""
    record, call = review.record, review.call
    return {
        **summary(record),
        "computedHash": review.computed_hash,
        "reviewHash": review.review_hash,
        "bindings": record.bindings.model_dump(mode="json", by_alias=True),
        "argsCanonicalJson": call.args_canonical_json,
        "parsedArguments": review.action,
        "requestedArguments": review.requested,
        "differences": [
            {
                "place": place(each.path, whole=True),
                "kind": each.kind,
                "requested": each.requested,
                "parsed": each.parsed,
            }
            for each in review.differences
        ],
        "toolDescription": call.tool_description,
        "turn": call.turn,
        "decodeAssurance": call.decode_assurance,
        "publicReason": call.public_reason,
        "metadata": call.metadata,
        "separationOfDuties": record.terms.separation_of_duties,
        "requesters": list(record.requesters),
        "requirements": [
            {
                "code": each.code,
                "approverRoles": list(each.roles),
                "quorum": each.quorum,
                "persons": list(each.persons),
                "met": each.met,
            }
            for each in review.requirements
        ],
        "votes": _votes(review.votes),
        "findings": [
            {
                "source": each.source,
                "place": place(each.path),
                "inKey": each.in_key,
                "concern": each.concern.name.lower(),
                "suspicious": each.suspicious,
                "count": each.count,
                "examples": list(each.examples),
            }
            for each in review.findings
        ],
    }


def _votes(votes: Sequence[VoteStatement]) -> list[JsonValue]:
    return [vote.model_dump(mode="json", by_alias=True, exclude={"bindings", "type", "approval_id"}) for vote in votes]
