"""Digests that an approval is bound to (design 3.5): lower-case hex SHA-256 of an RFC 8785 text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from aioc_opa.core.approvals.times import rfc3339_of_ms
from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.models.decision import ApprovalTerms
    from aioc_opa.models.stored_call import StoredCall


def terms_digest(terms: ApprovalTerms) -> str:
    """Digest of what an approval takes, as the decision says it on the wire (requirements, separation, lifetime).

    The order of requirements and of roles counts: the library gives both sorted, so equal terms are equal texts.

    Returns:
        64 lower-case hexadecimal digits.
    """
    return _sha256(terms.model_dump(by_alias=True))


def tool_digest(*, name: str, description: str, schema: JsonObject) -> str:
    """Digest of a tool's definition: a tool that changes under an approval is another tool.

    Args:
        name: as registered.
        description: as registered.
        schema: JSON Schema of the arguments.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: the schema, or a text, has no RFC 8785 form.
    """
    return _sha256({"name": name, "description": description, "schema": schema})


def review_hash(record: ApprovalRecord, call: StoredCall) -> str:
    """Digest of what a reviewer decides on: all that a vote is signed over, and all else that the page shows of it.

    Votes and the state are left out: they change while others vote.

    Args:
        record: the approval.
        call: decoded from its payload.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: the stored call has no RFC 8785 form.
    """
    return _sha256(
        {
            "approvalId": record.approval_id,
            "tenant": record.tenant,
            "bindings": record.bindings.model_dump(mode="json", by_alias=True),
            "reason": record.reason,
            "reasons": list(record.reasons),
            "requesters": list(record.requesters),
            "createdAt": rfc3339_of_ms(record.created_at_ms),
            "expiresAt": rfc3339_of_ms(record.expires_at_ms),
            "call": call.model_dump(mode="json", by_alias=True),
        }
    )


def _sha256(value: object) -> str:
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()
