"""Reading what adapters answered: exact types, exact fields, and echoes. Anything else is no answer.

An answer is read once, out of the object's own fields: a subclass, an object that was built without validation, or one
that is changed meanwhile cannot mean two things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.access.names import is_name
from aioc_opa.core.reasons import REASON_CODE, RESERVED
from aioc_opa.models.tool_authorization import ToolApprovalResult, ToolAuthorizationResult

if TYPE_CHECKING:
    from aioc_opa.models.tool_authorization import ToolApprovalRequest

POLICY_DECISIONS: Final = frozenset({"allow", "deny", "approval_required"})
APPROVAL_DECISIONS: Final = frozenset({"approved", "denied", "expired"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked answer. `code` may stand in events; it is none of the runtime's own."""

    decision: str
    code: str
    decided_by: str | None = None


def policy_answer(result: object) -> Answer | None:
    """What a policy adapter decided; None when it is malformed."""
    if type(result) is not ToolAuthorizationResult:
        return None
    fields = dict(vars(result))
    return _answer(fields, POLICY_DECISIONS) if fields.keys() == {"decision", "reason_code"} else None


def approval_answer(result: object, request: ToolApprovalRequest) -> Answer | None:
    """What a person decided on `request`; None when it is malformed or answers another request.

    The request id is random and one a question, so a remembered approval is none: each counts once.
    """
    if type(result) is not ToolApprovalResult:
        return None
    fields = dict(vars(result))
    if fields.pop("request_id", None) != request.request_id or fields.pop("fingerprint", None) != request.fingerprint:
        return None
    by = fields.pop("decided_by", None)
    if fields.keys() != {"decision", "reason_code"} or not (by is None or is_name(by)):
        return None
    answer = _answer(fields, APPROVAL_DECISIONS)
    return None if answer is None else Answer(answer.decision, answer.code, by)


def _answer(fields: dict[str, object], decisions: frozenset[str]) -> Answer | None:
    decision, code = fields["decision"], fields["reason_code"]
    if type(decision) is not str or decision not in decisions:
        return None
    if type(code) is not str or REASON_CODE.fullmatch(code) is None or code in RESERVED:
        return None
    return Answer(decision, code)
