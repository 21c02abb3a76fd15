"""An application's own note that a proposal was approved, in the shape of the TypeScript runtime's `ApprovalGrant`.

Evidence that an application may put into ``runContext.context`` for its policy to read. It is **not** a grant of this
package: it is not signed, bound to no principal, run or policy, and never consumed; nothing here executes by it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel


def _time(value: object) -> object:
    if type(value) is not str or parse_rfc3339(value) is None:
        raise PydanticCustomError("rfc3339", "an RFC 3339 date-time with an offset is expected")
    return value


def _given(value: object) -> object:
    # In JavaScript null is not undefined: there it revokes, or is no valid time. Here it is no record.
    if value is None:
        raise PydanticCustomError("null", "leave it out instead of null")
    return value


def _json_object(value: object) -> object:
    if type(value) is not dict:
        raise PydanticCustomError("json_object", "a JSON object is expected")
    try:
        canonical_text(value)
    except NotCanonicalError:
        raise PydanticCustomError("not_canonical", "it has no canonical JSON form") from None
    return value


class ApprovalGrantRecord(WireModel):
    """Evidence for a policy, see the module. Semantics: `aioc_opa.core.approvals.grant_records`.

    Attributes:
        proposal_hash: which proposal; lower-case hex SHA-256.
        approved_at: when, RFC 3339.
        expires_at: it is active up to and at this time, RFC 3339; absent: for ever.
        revoked_at: whatever it says, it has ended the approval.
        metadata: the application's, canonical JSON.
    """

    proposal_hash: str = Field(pattern=HASH_PATTERN)
    approved_at: Annotated[str, BeforeValidator(_time), Field(max_length=35)]
    expires_at: Annotated[str | None, BeforeValidator(_time), Field(max_length=35)] = None
    revoked_at: Annotated[str | None, BeforeValidator(_given), Field(max_length=64)] = None
    metadata: Annotated[dict[str, Any] | None, BeforeValidator(_json_object), Field(repr=False)] = None
