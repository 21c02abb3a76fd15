"""Allow-list composition (seed "Allow-list composition"). Pure but for the directory that it asks.

Rules, in order; the first that fails refuses:

1. Capability lists come first: tool policy can never grant what a capability denies. Where the gate has them, a call
   must name a known capability; where the identity has them, one of its own; and the capability must have the tool.
2. The identity's tools intersected with the registered tools. Empty means none.
3. A legacy identity, without a binding or without a list of tools, has exactly `legacy_tools`, none by default. The
   claims of one without a binding are cleared, its tenant above all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aioc_opa.access.details import Detail
from aioc_opa.access.identities import IdentityBinding, names_of
from aioc_opa.access.names import is_name
from aioc_opa.errors import ConfigurationError
from aioc_opa.models.principal import Principal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from aioc_opa.access.identities import IdentityDirectory


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller as it is bound.

    Attributes:
        principal: its tenant is the binding's; none without a binding.
        binding: None for a legacy identity.
    """

    principal: Principal
    binding: IdentityBinding | None


class AllowLists:
    """The lists of one gate.

    Args:
        identities: the bindings.
        legacy_tools: what an identity without a list of tools has.
        capabilities: the tools of each capability; None when the application has no capability lists.

    Raises:
        ConfigurationError: a list is none, or the directory has no `find`.
    """

    def __init__(
        self,
        *,
        identities: IdentityDirectory,
        legacy_tools: Collection[str] = (),
        capabilities: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        if not callable(getattr(identities, "find", None)):
            raise ConfigurationError("identities must have a method find(identity), such as IdentityBindings([…])")
        self._identities: Final = identities
        self._legacy: Final = names_of("legacy_tools", legacy_tools)
        self._capabilities: Final = None if capabilities is None else _lists(capabilities)

    def caller(self, principal: object) -> Caller | Detail:
        """Who calls, as bound; or why that cannot be said.

        Exact types only: a subclass of `Principal`, or a name that is more than a str, is no authenticated identity.
        """
        if type(principal) is not Principal or not is_name(principal.identity):
            return Detail.IDENTITY_MISSING
        try:
            binding = self._identities.find(principal.identity)
        except Exception:  # noqa: BLE001 - a directory that fails binds nobody
            return Detail.DIRECTORY_FAILED
        if binding is None:
            return Caller(_bound(principal, None), None)
        if type(binding) is not IdentityBinding or binding.identity != principal.identity:
            return Detail.DIRECTORY_FAILED
        return Caller(_bound(principal, binding.tenant), binding)

    def refuses(self, caller: Caller, capability: object, tool: str) -> Detail | None:
        """Why `caller` may not use the registered `tool` under `capability`; None when it may."""
        binding = caller.binding
        granted = None if binding is None else binding.capabilities
        if self._capabilities is not None or granted is not None:
            if capability is None:
                return Detail.CAPABILITY_MISSING
            if type(capability) is not str:
                return Detail.CAPABILITY_UNKNOWN
            if self._capabilities is not None and capability not in self._capabilities:
                return Detail.CAPABILITY_UNKNOWN
            if granted is not None and capability not in granted:
                return Detail.CAPABILITY_NOT_GRANTED
            if self._capabilities is not None and tool not in self._capabilities[capability]:
                return Detail.TOOL_NOT_IN_CAPABILITY
        if binding is None or binding.tools is None:
            return None if tool in self._legacy else Detail.TOOL_NOT_IN_LEGACY_TOOLS
        return None if tool in binding.tools else Detail.TOOL_NOT_IN_ALLOW_LIST


def _lists(capabilities: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    names_of("capabilities", capabilities.keys())
    return {name: names_of(f"capabilities[{name!r}]", tools) for name, tools in capabilities.items()}


def _bound(principal: Principal, tenant: str | None) -> Principal:
    """The principal with the tenant that it is bound to. Roles and chain are not step 1's to judge."""
    # By type too: a claim that is more than a str may say that it equals anything.
    same = type(principal.tenant) is type(tenant) and principal.tenant == tenant
    return principal if same else principal.model_copy(update={"tenant": tenant})
