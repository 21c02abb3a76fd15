"""Steps 2 to 4 of a call: strict JSON, one schema parse, fingerprint (RFC-0015 "Decision"; design 2).

    raw provider arguments -> strict JSON -> requested arguments -> ONE schema parse -> parsed arguments
    -> canonical text -> proposal hash

A failure here is not a policy decision: it raises `ToolArgumentsValidationError`, and policy is never asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from aioc_opa.core import strict_json
from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.fingerprint import handoff_proposal_hash, tool_proposal_hash
from aioc_opa.core.tool_schemas.protocol import NotCanonicalError, SchemaRejectionError
from aioc_opa.errors import ArgumentIssue, ToolArgumentsValidationError

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.core.limits import JsonLimits
    from aioc_opa.core.tool_schemas.protocol import ToolSchema

DecodeAssurance = Literal["raw", "decoded"]
EmptyArguments = Literal["reject", "object"]


@dataclass(slots=True, kw_only=True)
class PreparedCall:
    """What steps 2 to 4 made of one tool call.

    Attributes:
        raw_arguments: the exact provider string; RFC 8785 text when a framework handed over an object.
        requested_arguments: its strict decode; diagnostic.
        requested_json: the JSON text of it that goes on the wire: the very text that was decoded, number for number.
        parsed: the schema's output: what is judged and executed. Shares no mutable part with the above.
        args_canonical_json: RFC 8785 text of its canonical value.
        decode_assurance: ``raw`` or ``decoded``.
    """

    raw_arguments: str
    requested_arguments: JsonObject
    requested_json: str
    parsed: object
    args_canonical_json: str
    decode_assurance: DecodeAssurance


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHandoff:
    """What strict decoding made of a handoff's payload; it has no schema (RFC-0015, "Non-Goals")."""

    payload: JsonObject
    payload_canonical_json: str


def prepare_call(
    schema: ToolSchema,
    raw_arguments: object,
    *,
    tool_name: str,
    limits: JsonLimits,
    empty_arguments: EmptyArguments,
) -> PreparedCall:
    """Decode, parse once and write canonically.

    Args:
        schema: the tool's compiled schema.
        raw_arguments: the provider's string, or a plain dict from a framework that has decoded it already.
        tool_name: for the error.
        limits: of the decode.
        empty_arguments: whether an empty or blank string is taken as ``{}``.

    Raises:
        ToolArgumentsValidationError: stage ``json`` or ``schema``.
    """
    text, assurance = _text(raw_arguments, tool_name)
    requested = _decode(text, tool_name, limits, empty_arguments)
    # A blank text got here only where the option takes it as {}; the schema and policy read JSON.
    json_text = text if requested or text.strip(" \t\r\n") else "{}"
    parsed = _parse(schema, json_text, tool_name)
    try:
        canonical = schema.canonical_text(parsed)
    except NotCanonicalError as error:
        # Design 2: parsed arguments without a canonical form fail the schema step.
        raise _invalid(tool_name, "schema", "not_canonical", error.problem, error.path) from None
    except Exception as error:  # noqa: BLE001 - a broken __eq__ or property of the application's classes
        raise _invalid(tool_name, "schema", "not_canonical", f"no canonical form ({type(error).__name__})") from None
    return PreparedCall(
        raw_arguments=text,
        requested_arguments=requested,
        requested_json=json_text,
        parsed=parsed,
        args_canonical_json=canonical,
        decode_assurance=assurance,
    )


def prepare_handoff(raw_payload: object, *, to_agent_name: str, limits: JsonLimits) -> PreparedHandoff:
    """Decode a handoff's payload and write it canonically.

    Raises:
        ToolArgumentsValidationError: stage ``json``; its `tool_name` is the target agent.
    """
    text, _ = _text(raw_payload, to_agent_name)
    payload = _decode(text, to_agent_name, limits, "reject")
    return PreparedHandoff(payload=payload, payload_canonical_json=canonical_text(payload))


def tool_hash(agent_name: str, tool_name: str, prepared: PreparedCall) -> str:
    """The proposal hash of a prepared call.

    Raises:
        NotCanonicalError: a name has no canonical form.
    """
    return tool_proposal_hash(
        agent_name=agent_name, tool_name=tool_name, args_canonical_json=prepared.args_canonical_json
    )


def handoff_hash(from_agent_name: str, to_agent_name: str, prepared: PreparedHandoff) -> str:
    """The proposal hash of a prepared handoff.

    Raises:
        NotCanonicalError: a name has no canonical form.
    """
    return handoff_proposal_hash(
        from_agent_name=from_agent_name,
        to_agent_name=to_agent_name,
        payload_canonical_json=prepared.payload_canonical_json,
    )


def _text(raw: object, tool_name: str) -> tuple[str, DecodeAssurance]:
    if type(raw) is str:
        return raw, "raw"
    if type(raw) is dict:
        try:
            return canonical_text(raw), "decoded"
        except NotCanonicalError as error:
            raise _invalid(tool_name, "json", "not_canonical", error.problem, error.path) from None
    raise _invalid(
        tool_name,
        "json",
        "not_text",
        f"arguments must be the provider's str, or a plain dict, not {type(raw).__name__}",
    )


def _decode(text: str, tool_name: str, limits: JsonLimits, empty_arguments: EmptyArguments) -> JsonObject:
    try:
        return strict_json.decode_object(text, limits, empty_arguments=empty_arguments)
    except strict_json.StrictJsonError as error:
        issue = ArgumentIssue(code=error.code, path=error.path, message=error.message, offset=error.offset)
        raise ToolArgumentsValidationError(tool_name=tool_name, stage="json", issues=[issue]) from None


def _parse(schema: ToolSchema, text: str, tool_name: str) -> object:
    try:
        return schema.parse(text)
    except SchemaRejectionError as error:
        raise ToolArgumentsValidationError(tool_name=tool_name, stage="schema", issues=error.issues) from None
    except Exception as error:  # noqa: BLE001 - a validator of the application that breaks
        # The type's name only: its text may hold values.
        raise _invalid(tool_name, "schema", "validator_error", f"a validator raised {type(error).__name__}") from None


def _invalid(
    tool_name: str, stage: Literal["json", "schema"], code: str, message: str, path: tuple[str | int, ...] = ()
) -> ToolArgumentsValidationError:
    issue = ArgumentIssue(code=code, path=path, message=message)
    return ToolArgumentsValidationError(tool_name=tool_name, stage=stage, issues=[issue])
