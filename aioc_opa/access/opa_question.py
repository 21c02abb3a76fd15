"""Step 1's question to OPA and the reading of its answer: total, closed and bound by two echoes.

The question is ``{"input": {"contractVersion", "kind": "access", "requestId", "requestDigest", "request"}}``, where
`request` is the `ToolAuthorizationRequest` and the digest is SHA-256 of its RFC 8785 text. The answer is exactly
``{"decision", "reason", "kind", "requestId", "requestDigest"}``. An answer to another question is
``policy_binding_mismatch``; whatever else is not exactly this is ``policy_malformed_decision``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.access.adapters import NoAnswerError
from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text
from aioc_opa.core.engine_answer import EngineAnswer, EngineFailureError, Undefined
from aioc_opa.core.reasons import ALLOWED, NO_RULE_ALLOWS, REASON_CODE, RESERVED, Reason
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest, ToolAuthorizationResult

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.revision_gate import RevisionGate

_KEYS: Final = frozenset({"decision", "reason", "kind", "requestId", "requestDigest"})


@dataclass(frozen=True, slots=True)
class OpaQuestion:
    """One question.

    Attributes:
        body: bytes of ``{"input": …}``.
        echoes: what the answer must repeat.
    """

    body: bytes
    echoes: tuple[str, str, str]


def opa_question(request: ToolAuthorizationRequest) -> OpaQuestion:
    """The question for `request`.

    Raises:
        NoAnswerError: it has no request id, or no canonical form; ``policy_input_invalid``.
    """
    if type(request) is not ToolAuthorizationRequest or request.request_id is None:
        raise NoAnswerError(Reason.POLICY_INPUT_INVALID)
    try:
        text = canonical_text(request.model_dump(mode="python", by_alias=True, exclude_none=True))
        request_id = canonical_text(request.request_id)
    except NotCanonicalError:
        raise NoAnswerError(Reason.POLICY_INPUT_INVALID) from None
    digest = hashlib.sha256(text.encode()).hexdigest()
    body = (
        f'{{"input":{{"contractVersion":"1","kind":"access","request":{text},'
        f'"requestDigest":"{digest}","requestId":{request_id}}}}}'
    )
    return OpaQuestion(body.encode(), ("access", request.request_id, digest))


def read_answer(
    answer: object, question: OpaQuestion, *, deadline: Deadline, gate: RevisionGate | None
) -> ToolAuthorizationResult:
    """The decision in what an engine gave.

    Raises:
        NoAnswerError: there is none that answers `question`, in time, under an accepted revision.
    """
    if type(answer) is not EngineAnswer:
        raise NoAnswerError(Reason.POLICY_UNAVAILABLE)
    if deadline.passed():
        raise NoAnswerError(Reason.POLICY_TIMEOUT)
    result = answer.result
    if isinstance(result, Undefined):
        raise NoAnswerError(Reason.POLICY_UNDEFINED)
    if type(result) is not dict or result.keys() != _KEYS:
        raise NoAnswerError(Reason.POLICY_MALFORMED_DECISION)
    if not all(type(value) is str for value in result.values()):
        raise NoAnswerError(Reason.POLICY_MALFORMED_DECISION)
    decision, reason = str(result["decision"]), str(result["reason"])
    if not _means_one_thing(decision, reason):
        raise NoAnswerError(Reason.POLICY_MALFORMED_DECISION)
    if (result["kind"], result["requestId"], result["requestDigest"]) != question.echoes:
        raise NoAnswerError(Reason.POLICY_BINDING_MISMATCH)
    if gate is not None and not _accepted(gate, answer.policy_revision):
        raise NoAnswerError(Reason.POLICY_REVISION_REJECTED)
    return ToolAuthorizationResult.model_validate({"decision": decision, "reason_code": reason})


def failure(error: BaseException, deadline: Deadline) -> NoAnswerError:
    """What an engine raised, as a reserved reason; its text is dropped."""
    if isinstance(error, NoAnswerError):
        return error
    if isinstance(error, EngineFailureError) and type(error.reason) is Reason:
        return NoAnswerError(error.reason)
    if isinstance(error, TimeoutError) or deadline.passed():
        return NoAnswerError(Reason.POLICY_TIMEOUT)
    return NoAnswerError(Reason.POLICY_UNAVAILABLE)


def _means_one_thing(decision: str, reason: str) -> bool:
    if REASON_CODE.fullmatch(reason) is None or reason in RESERVED:
        return False
    if decision == "allow":
        return reason == ALLOWED
    if decision == "deny":
        return reason != ALLOWED
    return decision == "approval_required" and reason not in {ALLOWED, NO_RULE_ALLOWS}


def _accepted(gate: RevisionGate, policy_revision: str | None) -> bool:
    try:
        return gate.accepts(policy_revision) is True
    except Exception:  # noqa: BLE001 - a gate that fails accepts nothing
        return False
