"""The one document that `authorize --json` prints, and that each line of `replay --out` holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.reasons import Reason
from aioc_opa.models.outcome import Allowed, Denied, Outcome, Suspended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aioc_opa.errors import ToolArgumentsValidationError

Document = dict[str, Any]

ENGINES_DIFFER: Final = "engines_differ"
"""`reason` of the document that stands for two verdicts; never a code of the contract."""

ENGINE_FAULTS: Final = frozenset(
    {
        Reason.POLICY_UNDEFINED,
        Reason.POLICY_MALFORMED_DECISION,
        Reason.POLICY_BINDING_MISMATCH,
        Reason.POLICY_EVALUATION_ERROR,
        Reason.POLICY_UNAVAILABLE,
        Reason.POLICY_TIMEOUT,
        Reason.POLICY_REVISION_REJECTED,
    }
)
"""Reasons of a denial that says nothing about the call: no engine decided it."""

_COMPARED: Final = ("outcome", "stage", "reason", "reasons", "publicReason", "approval")

_EMPTY: Final[Document] = {
    "outcome": "deny",
    "stage": "policy",
    "reason": "",
    "reasons": [],
    "publicReason": None,
    "proposalHash": None,
    "argsCanonicalJson": None,
    "parsedArguments": None,
    "policyRevision": None,
    "engine": "",
    "durationMs": 0.0,
}


def of_outcome(outcome: Allowed | Denied | Suspended, engine: str) -> Document:
    """The document of an outcome.

    `reason` is what operators see (``tool_not_registered``); `publicReason` is what a caller sees.

    Args:
        outcome: what the guard gave.
        engine: name of the engine that was asked, for outcomes without an answer.
    """
    document = _EMPTY | _common(outcome, engine)
    if isinstance(outcome, Allowed):
        document["outcome"] = "allow"
    elif isinstance(outcome, Suspended):
        document["outcome"] = "approval_required"
        document["approval"] = outcome.proposal.approval.model_dump(mode="json", by_alias=True)
    else:
        document["reason"] = outcome.audit_code
    return document


def of_invalid_arguments(error: ToolArgumentsValidationError, engine: str, duration_ms: float) -> Document:
    """The document of arguments that were refused before policy. `reason` is the code of the first issue."""
    issues = [
        {"code": issue.code, "path": list(issue.path), "message": issue.message, "offset": issue.offset}
        for issue in error.issues
    ]
    return _EMPTY | {
        "outcome": "invalid_arguments",
        "stage": error.stage,
        "reason": error.code,
        "engine": engine,
        "durationMs": round(duration_ms, 3),
        "issues": issues,
    }


def of_both(documents: Sequence[Document]) -> tuple[Document, bool]:
    """One document for what several engines said, and whether they differ.

    Where they differ the document denies, and ``verdicts`` has what each of them said.
    """
    first, last = documents[0], documents[-1]
    joined = last | {
        "engine": " + ".join(dict.fromkeys(document["engine"] for document in documents)),
        "durationMs": round(sum(document["durationMs"] for document in documents), 3),
    }
    if all(_compared(document) == _compared(first) for document in documents):
        return joined, False
    differing = _EMPTY | {"reason": ENGINES_DIFFER, "engine": joined["engine"], "durationMs": joined["durationMs"]}
    for name in ("proposalHash", "argsCanonicalJson", "parsedArguments", "policyRevision"):
        differing[name] = last[name]
    return differing | {"verdicts": list(documents)}, True


def verdict(document: Document) -> str:
    """Outcome and reasons in a few words."""
    reasons = ", ".join(document["reasons"]) or document["reason"]
    return f"{document['outcome']} ({reasons})"


def _compared(document: Document) -> list[Any]:
    return [document.get(name) for name in _COMPARED]


def _common(outcome: Outcome, engine: str) -> Document:
    question = outcome.question
    canonical = None if question is None else question.args_canonical_json
    return {
        "stage": outcome.stage,
        "reason": outcome.code,
        "reasons": list(outcome.reasons),
        "publicReason": outcome.public_reason or None,
        "proposalHash": None if question is None else question.proposal_hash,
        "argsCanonicalJson": canonical,
        "parsedArguments": None if canonical is None else json.loads(canonical),
        "policyRevision": outcome.policy_revision,
        "engine": outcome.engine or engine,
        "durationMs": round(outcome.duration_ms, 3),
    }
