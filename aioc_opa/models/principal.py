"""Who the call is made for: authenticated by the application, never named by the model."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aioc_opa.models.wire import WireModel

Name = Annotated[str, Field(min_length=1, max_length=128)]


class Principal(WireModel):
    """The authenticated identity behind a call (design 3.1).

    Attributes:
        identity: stable id of the person or service, 1 to 128 characters.
        tenant: the tenant it is bound to.
        roles: roles that the application's authentication gave it.
        on_behalf_of: the chain of identities it acts for, nearest first.
    """

    identity: Name
    tenant: Name | None = None
    roles: tuple[Name, ...] = Field(default=(), max_length=256, strict=False)
    on_behalf_of: tuple[Name, ...] | None = Field(default=None, max_length=32, strict=False)
