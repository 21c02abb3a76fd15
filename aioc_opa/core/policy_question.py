"""The bytes of ``{"input": …}`` that a policy engine is asked with (design 3.1).

Written by hand from texts that are already canonical or strictly decoded: `parsedArguments` on the wire IS
`argsCanonicalJson`, so that what is judged and what is hashed cannot differ by a serializer.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final, Literal

from aioc_opa.core.canonical_json import canonical_text

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.models.approval_evidence import ApprovalEvidence
    from aioc_opa.models.principal import Principal
    from aioc_opa.models.run_context import RunContext

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""Default cap of one question, bytes; over it the call is denied with ``policy_input_invalid``."""

_quote: Final = encode_basestring


def run_context_text(run_context: RunContext, run_id: str) -> str:
    """JSON text of the run context.

    Raises:
        NotCanonicalError: ``context`` is not plain canonical JSON.
    """
    context = canonical_text(run_context.context) if run_context.context else "{}"
    return f'{{"runId":{_quote(run_id)},"context":{context}}}'


def principal_text(principal: Principal) -> str:
    """JSON text of the principal.

    Raises:
        NotCanonicalError: a name in it has no canonical form (a lone surrogate).
    """
    document: JsonObject = {"identity": principal.identity, "roles": list(principal.roles)}
    if principal.tenant is not None:
        document["tenant"] = principal.tenant
    if principal.on_behalf_of is not None:
        document["onBehalfOf"] = list(principal.on_behalf_of)
    return canonical_text(document)


def approval_text(evidence: ApprovalEvidence) -> str:
    """JSON text of the evidence of an approval.

    Raises:
        NotCanonicalError: a name in it has no canonical form.
    """
    return canonical_text(evidence.model_dump(mode="json", by_alias=True, exclude_none=True))


def tool_question(
    *,
    request_id: str,
    agent_name: str,
    tool_name: str,
    tool_version: str | None,
    call_id: str,
    raw_arguments: str,
    requested_json: str,
    args_canonical_json: str,
    proposal_hash: str,
    run_context: str,
    turn: int,
    principal: str | None,
    decode_assurance: Literal["raw", "decoded"],
    approval: str | None = None,
) -> bytes:
    """Body for a tool call; `run_context`, `principal` and `approval` are texts made by this module.

    Raises:
        UnicodeEncodeError: a name has a lone surrogate.
    """
    version = "" if tool_version is None else f'"toolVersion":{_quote(tool_version)},'
    who = "" if principal is None else f'"principal":{principal},'
    evidence = "" if approval is None else f'"approval":{approval},'
    return (
        f'{{"input":{{"contractVersion":"1","kind":"tool","requestId":"{request_id}",'
        f'"agentName":{_quote(agent_name)},"toolName":{_quote(tool_name)},{version}"callId":{_quote(call_id)},'
        f'"rawArguments":{_quote(raw_arguments)},"requestedArguments":{requested_json},'
        f'"parsedArguments":{args_canonical_json},"argsCanonicalJson":{_quote(args_canonical_json)},'
        f'"proposalHash":"{proposal_hash}","runContext":{run_context},"turn":{turn},{who}{evidence}'
        f'"decodeAssurance":"{decode_assurance}"}}}}'
    ).encode()


def handoff_question(
    *,
    request_id: str,
    from_agent_name: str,
    to_agent_name: str,
    payload_canonical_json: str,
    proposal_hash: str,
    run_context: str,
    turn: int,
    principal: str | None,
) -> bytes:
    """Body for a handoff.

    Raises:
        UnicodeEncodeError: a name has a lone surrogate.
    """
    who = "" if principal is None else f'"principal":{principal},'
    return (
        f'{{"input":{{"contractVersion":"1","kind":"handoff","requestId":"{request_id}",'
        f'"fromAgentName":{_quote(from_agent_name)},"toAgentName":{_quote(to_agent_name)},'
        f'"handoffPayload":{payload_canonical_json},"payloadCanonicalJson":{_quote(payload_canonical_json)},'
        f'"proposalHash":"{proposal_hash}","runContext":{run_context},{who}"turn":{turn}}}}}'
    ).encode()
