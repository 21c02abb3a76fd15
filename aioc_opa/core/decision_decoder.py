"""From whatever a policy engine answered to a `PolicyDecision`, or to a reserved reason. Total and closed (design 3.3).

Rules, in order; the first that fails gives the reason:

1. There is a result, else ``policy_undefined``.
2. It has exactly the decision's shape: an object, every key known, every type exact, no null, sizes bounded;
   else ``policy_malformed_decision``.
3. It means one thing: codes sorted and single, none of them reserved for the runtime, the primary reason of the
   effect, approval terms with ``approval_required`` and only then; else ``policy_malformed_decision``.
4. It answers our question: all three echoes are equal; else ``policy_binding_mismatch``.

A truthy value is not a decision: ``true``, ``"deny"``, ``[]`` and ``{"allow": true}`` are all malformed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from pydantic import ValidationError

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import Undefined
from aioc_opa.core.reasons import ALLOWED, NO_RULE_ALLOWS, RESERVED, Reason
from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError
from aioc_opa.models.decision import PolicyDecision

if TYPE_CHECKING:
    from datetime import datetime

    from aioc_opa.core.json_value import JsonValue

MAX_METADATA_CHARACTERS: Final = 16_384
"""Size of a decision's ``metadata``, characters of its RFC 8785 text."""

_NOT_CODES: Final = RESERVED | {ALLOWED, NO_RULE_ALLOWS}


class DecisionRefusedError(ValueError):
    """The answer is no usable decision.

    Attributes:
        reason: ``policy_undefined``, ``policy_malformed_decision`` or ``policy_binding_mismatch``.
        detail: what is wrong, for operators; never a value from the answer.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def decode_decision(
    result: JsonValue | Undefined,
    *,
    proposal_hash: str,
    request_id: str,
    kind: Literal["tool", "handoff"],
) -> PolicyDecision:
    """Decode and bind one decision.

    Args:
        result: the engine's answer, strictly decoded.
        proposal_hash: what was asked.
        request_id: what was asked.
        kind: what was asked.

    Raises:
        DecisionRefusedError: with the reserved reason.
    """
    if isinstance(result, Undefined):
        raise DecisionRefusedError(
            Reason.POLICY_UNDEFINED, "the decision rule has no value: a wrong path, or no bundle is loaded yet"
        )
    decision = _shaped(result)
    _require_one_meaning(decision)
    if (decision.proposal_hash, decision.request_id, decision.kind) != (proposal_hash, request_id, kind):
        raise DecisionRefusedError(Reason.POLICY_BINDING_MISMATCH, "an echo is not that of the question asked")
    return decision


def expiry(decision: PolicyDecision) -> datetime | None:
    """The decision's ``expiresAt`` as an aware datetime; None without one."""
    return None if decision.expires_at is None else parse_rfc3339(decision.expires_at)


def _malformed(detail: str) -> DecisionRefusedError:
    return DecisionRefusedError(Reason.POLICY_MALFORMED_DECISION, detail)


def _shaped(result: JsonValue) -> PolicyDecision:
    if type(result) is not dict:
        raise _malformed("the decision is not an object")
    for key, value in result.items():
        if value is None:
            raise _malformed(f"{key[:64]!r} is null")
    try:
        return PolicyDecision.model_validate(result, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(part)[:64] for part in first["loc"])
        raise _malformed(f"{place or 'decision'}: {first['type']}") from None


def _require_one_meaning(decision: PolicyDecision) -> None:
    reasons = decision.reasons
    if any(not earlier < later for earlier, later in pairwise(reasons)):
        raise _malformed("reasons are not sorted, or one stands twice")
    if not _NOT_CODES.isdisjoint(reasons) or decision.reason in RESERVED:
        raise _malformed("a reason is used that only the runtime may use")
    if decision.decision == "allow":
        consistent = decision.reason == ALLOWED and not reasons
    elif decision.reason == NO_RULE_ALLOWS:
        consistent = decision.decision == "deny" and not reasons
    else:
        consistent = decision.reason in reasons
    if not consistent:
        raise _malformed("reason and reasons do not fit the decision")
    _require_sound_approval(decision)
    _require_sound_texts(decision)


def _require_sound_approval(decision: PolicyDecision) -> None:
    approval = decision.approval
    if (approval is not None) != (decision.decision == "approval_required"):
        raise _malformed("approval terms belong to approval_required, and only to it")
    if approval is None:
        return
    for requirement in approval.requirements:
        if requirement.code not in decision.reasons:
            raise _malformed("an approval requirement has a code that is no reason")
        if any(not role.strip() for role in requirement.approver_roles):
            raise _malformed("an approver role is blank")


def _require_sound_texts(decision: PolicyDecision) -> None:
    for text in (decision.public_reason, decision.policy_version):
        if text is not None and not (text.strip() and text.isprintable()):
            raise _malformed("publicReason and policyVersion are one printable line of text")
    if decision.expires_at is not None and parse_rfc3339(decision.expires_at) is None:
        raise _malformed("expiresAt is not an RFC 3339 time")
    if decision.metadata is not None:
        try:
            size = len(canonical_text(decision.metadata))
        except NotCanonicalError as error:
            raise _malformed(f"metadata is not canonical JSON: {error.problem}") from None
        if size > MAX_METADATA_CHARACTERS:
            raise _malformed("metadata is too large")
