"""proposalHash: lower-case hex SHA-256 of the RFC 8785 text of what is proposed (design 3.2).

The object has fixed ASCII keys and string values only, so its text is written here in the order of section 3.2.3 of
the RFC; a test compares it with the library `rfc8785`. No schema digest goes into the hash (RFC-0015).
"""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring as _quote  # escapes as RFC 8785 section 3.2.2.2 does

from aioc_opa.core.canonical_json import NotCanonicalError


def tool_proposal_hash(*, agent_name: str, tool_name: str, args_canonical_json: str) -> str:
    """SHA-256 of ``{"kind":"tool","agentName":…,"toolName":…,"argsCanonicalJson":…}``.

    Args:
        agent_name: the proposing agent.
        tool_name: the registered name.
        args_canonical_json: RFC 8785 text of the canonical value of the parsed arguments.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: one of the three has a lone surrogate.
    """
    return _sha256(
        f'{{"agentName":{_quote(agent_name)},"argsCanonicalJson":{_quote(args_canonical_json)}'
        f',"kind":"tool","toolName":{_quote(tool_name)}}}'
    )


def handoff_proposal_hash(*, from_agent_name: str, to_agent_name: str, payload_canonical_json: str) -> str:
    """SHA-256 of ``{"kind":"handoff","fromAgentName":…,"toAgentName":…,"payloadCanonicalJson":…}``.

    Args:
        from_agent_name: the agent that hands over.
        to_agent_name: the agent that takes over.
        payload_canonical_json: RFC 8785 text of the decoded payload.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: one of the three has a lone surrogate.
    """
    return _sha256(
        f'{{"fromAgentName":{_quote(from_agent_name)},"kind":"handoff"'
        f',"payloadCanonicalJson":{_quote(payload_canonical_json)},"toAgentName":{_quote(to_agent_name)}}}'
    )


def _sha256(text: str) -> str:
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError:
        raise NotCanonicalError((), "a name or the text has a lone surrogate, which UTF-8 cannot carry") from None
