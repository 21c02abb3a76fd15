"""Who may put what where below ``data.aioc`` (design 5: one owner a tool, packs cannot reach into each other)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonValue

NAMESPACE: Final = "aioc"
PACKS: Final = "packs"

_LIBRARY_RULES: Final = frozenset({"lib", "tool_policy", "tool_access", "handoff_policy", "routes", "access_rules"})
_LIBRARY_DATA: Final = frozenset({"lib", "owners", "handoffs", "access", "access_rules"})
LIBRARY_PLACES: Final = _LIBRARY_RULES | _LIBRARY_DATA
"""Every place below ``aioc`` but the packs."""

_PACK_DEPTH: Final = 3  # aioc / packs / <pack>


def check_module_place(source: str, name: str, package: tuple[str, ...]) -> None:
    """Refuse a module that sits in a folder shared by several owners, or in one that the library does not have.

    A rule's name may be a reference (``packs.payments.allow contains …``), so a module in package ``aioc`` could put
    rules into any pack: nothing may sit there.

    Raises:
        PolicyLoadError: it does.
    """
    if package[0] != NAMESPACE:
        return
    if len(package) > 1 and package[1] in _LIBRARY_RULES:
        return
    if len(package) >= _PACK_DEPTH and package[1] == PACKS:
        return
    raise PolicyLoadError(
        f"{source}: {name}: package {'.'.join(package)} could put rules into the library or into packs; "
        "rules of your own go to aioc.packs.<pack>, or to a package outside aioc"
    )


def check_data_place(source: str, name: str, document: Mapping[str, JsonValue], *, whole_bundle: bool) -> None:
    """Refuse data in a folder shared by several owners, and unknown places below ``aioc``.

    Args:
        source: the policy, for messages.
        name: the file's path in it.
        document: its content.
        whole_bundle: the one ``data.json`` into which ``opa build`` merges all others: who gave which key was checked
            where the bundle was built, and can no longer be seen.

    Raises:
        PolicyLoadError: the data may not lie there.
    """
    folder = tuple(name.split("/")[:-1])
    if not folder:
        if NAMESPACE in document and not whole_bundle:
            raise PolicyLoadError(f"{source}: {name}: may not hold `aioc`; put it into the folder it belongs to")
        below = document.get(NAMESPACE)
        if isinstance(below, dict):
            for key in below:
                _check_library_data(source, name, (NAMESPACE, key))
        return
    if folder[0] == NAMESPACE:
        _check_library_data(source, name, folder)


def _check_library_data(source: str, name: str, path: tuple[str, ...]) -> None:
    if len(path) > 1 and path[1] in _LIBRARY_DATA:
        return
    if path[:2] == (NAMESPACE, PACKS) and (len(path) >= _PACK_DEPTH or name == "data.json"):
        return
    raise PolicyLoadError(
        f"{source}: {name}: data.{'.'.join(path)} is not a place for data; a pack's tables go to aioc/packs/<pack>/"
    )
