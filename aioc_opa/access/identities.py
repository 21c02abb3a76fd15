"""Which tenant, tools and capabilities an authenticated identity is bound to (design 2, step 1).

Empty means none; absent means legacy. The two are told apart everywhere: in Python (``frozenset()`` and ``None``), and
in a file (``[]`` and no key; null is refused, because it could mean either).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from aioc_opa.access.names import is_name
from aioc_opa.core.limits import JsonLimits
from aioc_opa.core.strict_json import StrictJsonError, decode
from aioc_opa.errors import ConfigurationError, InputFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from aioc_opa.core.json_value import JsonValue

_FILE_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_depth=8, max_nodes=5_000_000)
_KEYS: Final = frozenset({"identity", "tenant", "tools", "capabilities"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityBinding:
    """What one identity is bound to.

    Attributes:
        identity: as `Principal.identity`.
        tenant: the tenant it belongs to; replaces whatever a caller claims.
        tools: exactly the tools it may use; empty means none; None means legacy: the gate's `legacy_tools`.
        capabilities: exactly the capabilities it may use; empty means none; None means that it has no such list.

    Raises:
        ConfigurationError: a value is not of exactly that type and size.
    """

    identity: str
    tenant: str | None = None
    tools: frozenset[str] | None = None
    capabilities: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if not is_name(self.identity):
            raise ConfigurationError("IdentityBinding: identity must be a str of 1 to 128 characters")
        if self.tenant is not None and not is_name(self.tenant):
            raise ConfigurationError("IdentityBinding: tenant must be a str of 1 to 128 characters, or None")
        for name in ("tools", "capabilities"):
            names = getattr(self, name)
            if names is not None and (type(names) is not frozenset or not all(is_name(item) for item in names)):
                raise ConfigurationError(
                    f"IdentityBinding: {name} must be a frozenset of names of 1 to 128 characters, or None"
                )


@runtime_checkable
class IdentityDirectory(Protocol):
    """Finds the binding of an authenticated identity. Thread-safe; answers from memory, at once."""

    def find(self, identity: str) -> IdentityBinding | None:
        """The binding; None for a legacy identity without one. What it raises is a deny."""
        ...


class IdentityBindings:
    """Bindings in memory.

    Raises:
        ConfigurationError: an identity is bound twice.
    """

    def __init__(self, bindings: Iterable[IdentityBinding] = ()) -> None:
        found: dict[str, IdentityBinding] = {}
        for binding in bindings:
            if type(binding) is not IdentityBinding:
                raise ConfigurationError(f"IdentityBindings takes IdentityBinding, not {type(binding).__name__}")
            if binding.identity in found:
                raise ConfigurationError("IdentityBindings: an identity is bound twice")
            found[binding.identity] = binding
        self._bindings: Final = found

    @classmethod
    def from_file(cls, path: str | Path) -> IdentityBindings:
        """Read ``{"identities": [{"identity": …, "tenant"?: …, "tools"?: […], "capabilities"?: […]}]}``.

        Raises:
            InputFileError: it cannot be read, or is not of exactly that form; names the place, and no value.
        """
        file = Path(path)
        try:
            document = decode(file.read_text(encoding="utf-8"), _FILE_LIMITS)
        except OSError as error:
            raise InputFileError(f"{file}: {error.strerror or type(error).__name__}") from None
        except UnicodeDecodeError:
            raise InputFileError(f"{file}: not UTF-8") from None
        except StrictJsonError as error:
            raise InputFileError(f"{file}: {error}") from None
        try:
            return cls(_bindings(document))
        except (ConfigurationError, ValueError) as error:
            raise InputFileError(f"{file}: {error}") from None

    def find(self, identity: str) -> IdentityBinding | None:
        """The binding of exactly this identity."""
        return self._bindings.get(identity)


def names_of(place: str, names: Collection[str]) -> frozenset[str]:
    """A configured list of names as a set.

    Raises:
        ConfigurationError: it is one string, which is a collection of letters, or holds something that is no name.
    """
    if isinstance(names, (str, bytes)) or not all(is_name(item) for item in names):
        raise ConfigurationError(f"{place} must be a collection of names, each a str of 1 to 128 characters")
    return frozenset(names)


def _bindings(document: JsonValue) -> list[IdentityBinding]:
    if type(document) is not dict or list(document) != ["identities"]:
        raise ValueError('the file must be an object with exactly the key "identities"')
    entries = document["identities"]
    if type(entries) is not list:
        raise ValueError("identities must be an array")
    return [_binding(f"identities[{index}]", entry) for index, entry in enumerate(entries)]


def _binding(place: str, entry: JsonValue) -> IdentityBinding:
    if type(entry) is not dict:
        raise ValueError(f"{place} must be an object")
    if not entry.keys() <= _KEYS:
        raise ValueError(f"{place} has a key that is none of {', '.join(sorted(_KEYS))}")
    for key, value in entry.items():
        if value is None:
            raise ValueError(f"{place}.{key} is null: leave it out for legacy, or write [] for none")
    return IdentityBinding(
        identity=_name(f"{place}.identity", entry.get("identity")),
        tenant=None if "tenant" not in entry else _name(f"{place}.tenant", entry["tenant"]),
        tools=None if "tools" not in entry else _names(f"{place}.tools", entry["tools"]),
        capabilities=None if "capabilities" not in entry else _names(f"{place}.capabilities", entry["capabilities"]),
    )


def _name(place: str, value: JsonValue) -> str:
    if type(value) is not str or not is_name(value):
        raise ValueError(f"{place} must be a string of 1 to 128 characters")
    return value


def _names(place: str, value: JsonValue) -> frozenset[str]:
    if type(value) is not list:
        raise ValueError(f"{place} must be an array")
    names = [_name(f"{place}[{index}]", item) for index, item in enumerate(value)]
    if len(set(names)) != len(names):
        raise ValueError(f"{place} has a name twice")
    return frozenset(names)
