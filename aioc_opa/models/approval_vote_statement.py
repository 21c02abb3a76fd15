"""What a voter signs, and the signed vote as it is kept (design 3.5)."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeGuard

from pydantic import Field

from aioc_opa.models.approval_bindings import ApprovalBindings
from aioc_opa.models.decision import Role
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

_ID: Final = r"apr_[0-9a-f]{32}"
ApprovalId = Annotated[str, Field(pattern=rf"\A{_ID}\z")]
KeyId = Annotated[str, Field(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}\z")]


def is_approval_id(value: object) -> TypeGuard[str]:
    """Whether `value` has the form of an approval's id."""
    return type(value) is str and re.fullmatch(_ID, value) is not None


class VoteStatement(WireModel):
    """One person's vote on one request. Its RFC 8785 text is what is signed.

    Attributes:
        type: keeps this signature from being taken for any other.
        approval_id: the request.
        bindings: every binding of the request; the vote counts for exactly these.
        person_id: who votes, as the application's authentication resolved it.
        roles: the roles that person holds when voting.
        verdict: ``approved`` or ``rejected``.
        reason: in the voter's words; recorded, and shown to auditors.
        at: when, RFC 3339 in UTC.
        expires_at: when the request expires, RFC 3339 in UTC; the vote counts for nothing from then on.
        key_id: the key that signs.
    """

    type: Literal["aioc-opa/approval-vote/1"] = "aioc-opa/approval-vote/1"
    approval_id: ApprovalId
    bindings: ApprovalBindings
    person_id: Name
    roles: tuple[Role, ...] = Field(max_length=64, strict=False)
    verdict: Literal["approved", "rejected"]
    reason: str = Field(min_length=1, max_length=2000)
    at: str = Field(min_length=20, max_length=35)
    expires_at: str = Field(min_length=20, max_length=35)
    key_id: KeyId


class SignedVote(WireModel):
    """A vote statement with its signature.

    Attributes:
        statement: RFC 8785 text of a `VoteStatement`: the very bytes that were signed, as UTF-8.
        key_id: which public key verifies it; also inside the statement.
        signature: Ed25519, base64 (RFC 4648 section 4), 88 characters.
    """

    statement: str = Field(min_length=2, max_length=65_536)
    key_id: KeyId
    signature: str = Field(pattern=r"\A[A-Za-z0-9+/]{86}==\z")
