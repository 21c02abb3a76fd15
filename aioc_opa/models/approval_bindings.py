"""Everything that an approval is bound to (design 3.5). Whatever of it changes, the approval counts for nothing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aioc_opa.models.principal import Name
from aioc_opa.models.tool_policy_input import HASH_PATTERN
from aioc_opa.models.wire import WireModel

Digest = Annotated[str, Field(pattern=HASH_PATTERN)]


class ApprovalBindings(WireModel):
    """One call, by one principal, to one version of a tool, held by one revision of the policy on these terms.

    Attributes:
        proposal_hash: of the effective, parsed arguments (RFC-0015); covers the agent's and the tool's name.
        run_id: given by the application, else made by the guard.
        call_id: likewise; never a key by itself.
        agent_name: the agent that proposed.
        tool_name: the registered name.
        tool_version: as registered.
        tool_digest: SHA-256 over the tool's name, description and schema (`core.approvals.tool_digest`).
        identity: of the principal; None when the call had none.
        tenant: of the principal.
        on_behalf_of: of the principal.
        run_started_by: identity of who started the run, where the application says so.
        policy_revision: RFC 8785 text of ``{bundle: revision}``.
        terms_digest: SHA-256 of the RFC 8785 text of the decision's approval terms.
    """

    proposal_hash: Digest
    run_id: str = Field(min_length=1, max_length=256)
    call_id: str = Field(min_length=1, max_length=256)
    agent_name: str = Field(min_length=1, max_length=256)
    tool_name: str = Field(min_length=1, max_length=128)
    tool_version: str | None = Field(default=None, min_length=1, max_length=32)
    tool_digest: Digest
    identity: Name | None = None
    tenant: Name | None = None
    on_behalf_of: tuple[Name, ...] | None = Field(default=None, max_length=32, strict=False)
    run_started_by: Name | None = None
    policy_revision: str = Field(min_length=1, max_length=4096)
    terms_digest: Digest
