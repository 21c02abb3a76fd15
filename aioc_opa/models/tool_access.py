"""Step 1 as OPA is asked and answers: `data.aioc.tool_access.decision` (design 3.3; second seed, "Extension boundary").

Another question than the one on arguments: it holds `ToolAuthorizationRequest` and nothing else.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aioc_opa.models.decision import Code
from aioc_opa.models.principal import Name
from aioc_opa.models.tool_authorization import ToolAuthorizationRequest
from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel


class ToolAccessInput(WireModel):
    """May this identity use this tool at all? No argument, and no context of the application.

    Attributes:
        request_id: random, one a question; the decision echoes it.
        request_digest: SHA-256 of the RFC 8785 text of `request`; the decision echoes it.
        request: the metadata that is judged.
    """

    contract_version: Literal["1"] = "1"
    kind: Literal["access"] = "access"
    request_id: Name
    request_digest: str = Field(pattern=HASH_PATTERN)
    request: ToolAuthorizationRequest


class ToolAccessDecision(WireModel):
    """The answer to a `ToolAccessInput`: nothing beyond the decision, its code and the echoes.

    Attributes:
        decision: what is to happen.
        reason: primary code of the winning effect; ``allowed``, or ``no_rule_allows``.
        request_id: echo.
        request_digest: echo.
        kind: echo.
    """

    decision: Literal["allow", "deny", "approval_required"]
    reason: Code
    request_id: Name
    request_digest: str = Field(pattern=HASH_PATTERN)
    kind: Literal["access"]
