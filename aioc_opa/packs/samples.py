"""A pack's samples: recorded calls with the decision that the pack must take, ``samples/*.json``.

``{"title": …, "call": CALL, "expected": {"decision": …, "reasons": […]}}``, where CALL is what `aioc-opa authorize`
reads.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.strict_json import StrictJsonError, decode_object
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.data_documents import decode_document

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject, JsonValue

_DECISIONS: Final = frozenset({"allow", "deny", "approval_required"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample.

    Attributes:
        name: its file's name.
        input: the `ToolPolicyInput` of the call; its arguments are taken as they stand, without a tool schema.
        decision: expected.
        reasons: expected, sorted.
    """

    name: str
    input: JsonObject
    decision: str
    reasons: tuple[str, ...]


def read_samples(folder: Path) -> list[Sample]:
    """The samples in `folder`, by name; none when there is no such folder.

    Raises:
        PolicyLoadError: a file is no sample.
    """
    try:
        return [_sample(path, path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    except OSError as error:
        raise PolicyLoadError(f"{error.filename}: cannot be read: {error.strerror}") from error


def policy_input(call: JsonObject) -> JsonObject:
    """The `ToolPolicyInput` of a CALL document whose arguments need no schema.

    Raises:
        PolicyLoadError: it is no call.
    """
    agent, tool, raw = call.get("agentName"), call.get("toolName"), call.get("rawArguments")
    assurance = "raw"
    if raw is None and "arguments" in call:
        raw, assurance = canonical_text(call["arguments"]), "decoded"
    if not (isinstance(agent, str) and isinstance(tool, str) and isinstance(raw, str)):
        raise PolicyLoadError("a call has agentName, toolName, and rawArguments or arguments")
    try:
        arguments = decode_object(raw)
    except StrictJsonError as error:
        raise PolicyLoadError(f"rawArguments: {error.message}") from error
    canonical = canonical_text(arguments)
    question: JsonObject = {
        "contractVersion": "1",
        "kind": "tool",
        # The same call gives the same question: samples are replayed and compared.
        "requestId": hashlib.sha256(canonical_text(call).encode()).hexdigest()[:32],
        "agentName": agent,
        "toolName": tool,
        "rawArguments": raw,
        "requestedArguments": arguments,
        "parsedArguments": decode_object(raw),
        "argsCanonicalJson": canonical,
        "proposalHash": tool_proposal_hash(agent_name=agent, tool_name=tool, args_canonical_json=canonical),
        "runContext": call.get("runContext", {"context": {}}),
        "turn": call.get("turn", 0),
        "decodeAssurance": assurance,
    }
    question.update({key: call[key] for key in ("principal", "toolVersion", "callId", "approval") if key in call})
    return question


def _sample(path: Path, content: bytes) -> Sample:
    document = decode_document(path.parent.name, path.name, content)
    call, expected = document.get("call"), document.get("expected")
    if not isinstance(call, dict) or not isinstance(expected, dict) or not isinstance(document.get("title"), str):
        raise PolicyLoadError(f"{path}: a sample has title, call and expected")
    decision, reasons = expected.get("decision"), expected.get("reasons")
    if decision not in _DECISIONS or not isinstance(decision, str):
        raise PolicyLoadError(f"{path}: expected.decision is one of {', '.join(sorted(_DECISIONS))}")
    try:
        question = policy_input(call)
    except PolicyLoadError as error:
        raise PolicyLoadError(f"{path}: call: {error}") from error
    return Sample(path.name, question, decision, _codes(path, reasons))


def _codes(path: Path, reasons: JsonValue) -> tuple[str, ...]:
    if not isinstance(reasons, list):
        raise PolicyLoadError(f"{path}: expected.reasons is a list of codes")
    codes = [code for code in reasons if isinstance(code, str)]
    if codes != reasons or codes != sorted(set(codes)):
        raise PolicyLoadError(f"{path}: expected.reasons is a sorted list of codes, each once")
    return tuple(codes)
