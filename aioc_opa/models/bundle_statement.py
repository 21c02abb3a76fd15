"""What the publisher of a bundle says about it, in ``metadata.aioc`` of its manifest.

OPA's signature is over the files of a bundle, ``.manifest`` among them, so whoever verifies it has verified this. It
holds what OPA's own signing lacks: an expiry, and what stops an older bundle from being served again.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from aioc_opa.core.rfc3339 import parse_rfc3339
from aioc_opa.models.principal import Name
from aioc_opa.models.wire import WireModel

BundleName = Annotated[str, Field(pattern=r"\A[a-z0-9][a-z0-9._-]{0,62}\z")]
Counter = Annotated[int, Field(ge=0, le=2**53 - 1)]


class BundleStatement(WireModel):
    """One bundle's statement.

    Attributes:
        version: of this form.
        name: of the bundle: what OPA's configuration should call it, too.
        counter: raised with every bundle of this name.
        minimum_counter: bundles of this name with a lower counter are withdrawn; at most `counter`.
        digest: lower-case hex SHA-256 of the content (`core.bundles.content`).
        owners: who answers for it: names of people, teams or addresses.
        created_at: RFC 3339, when the publisher gave one. Nothing depends on it.
        expires_at: RFC 3339; from then on it is refused.
        part: whether it holds only a part of a policy, and is activated together with others.
    """

    version: Literal[1] = 1
    name: BundleName
    counter: Counter
    minimum_counter: Counter
    digest: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
    owners: tuple[Name, ...] = Field(min_length=1, max_length=64, strict=False)
    created_at: str | None = None
    expires_at: str | None = None
    part: bool = False

    @field_validator("created_at", "expires_at")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        if value is not None and parse_rfc3339(value) is None:
            raise ValueError("must be an RFC 3339 time such as 2026-07-01T12:00:00Z")
        return value

    @field_validator("owners")
    @classmethod
    def _are_readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(owner.isprintable() and owner.strip() for owner in value):
            raise ValueError("an owner is one line of text")
        return value

    @model_validator(mode="after")
    def _is_consistent(self) -> BundleStatement:
        if self.minimum_counter > self.counter:
            raise ValueError("minimumCounter is above counter: the bundle would withdraw itself")
        return self
