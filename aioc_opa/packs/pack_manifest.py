"""What a pack says about itself, in ``rego/aioc/packs/<pack>/data.json`` under ``manifest`` (design 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aioc_opa.core.reasons import ALLOWED, NO_RULE_ALLOWS, REASON_CODE, RESERVED
from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.data_documents import value_at
from aioc_opa.packs.names import is_pack_name, is_tool_name
from aioc_opa.packs.needs_schema import NeedsSchemaError, check_needs_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue

_KEYS: Final = frozenset({"version", "title", "tools", "data", "codes"})
_TOOL_KEYS: Final = frozenset({"context", "requireRaw"})
_MAX_TITLE: Final = 128
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")

DEFAULT_PACK: Final = "unowned"
"""The pack for tools that nobody owns: reached by name, governs no tool, may only deny or hold."""


@dataclass(frozen=True, slots=True)
class ToolNeeds:
    """What a pack needs to judge one tool.

    Attributes:
        context: schema of ``input.runContext.context``.
        require_raw: whether ``decodeAssurance`` must be ``raw``.
    """

    context: JsonObject
    require_raw: bool = False


@dataclass(frozen=True, slots=True)
class PackManifest:
    """One pack's manifest, checked.

    Attributes:
        pack: its name, which is its folder.
        version: the author's version of it.
        title: one line for people.
        tools: the tools it governs, with what it needs for each.
        data: schema, rooted at ``data``, of the data it reads.
        codes: every code that its verdicts can have.
    """

    pack: str
    version: str
    title: str
    tools: Mapping[str, ToolNeeds]
    data: JsonObject = field(default_factory=dict)
    codes: frozenset[str] = frozenset()


def read_manifests(source: str, data: JsonObject, packs: frozenset[str]) -> dict[str, PackManifest]:
    """The manifests of `packs`, and of nothing else, sorted by pack.

    Raises:
        PolicyLoadError: one is missing, invalid, or belongs to a pack without rules; or two tools differ in case only.
    """
    given = value_at(data, "aioc", "packs")
    tables = given if isinstance(given, dict) else {}
    stray = sorted(tables.keys() - packs)
    if stray:
        raise PolicyLoadError(f"{source}: aioc/packs/{stray[0]} has data and no rules; a pack without rules is refused")
    manifests = {pack: _read(source, pack, value_at(tables, pack, "manifest")) for pack in sorted(packs)}
    _check_spelling(source, manifests)
    return manifests


def _check_spelling(source: str, manifests: Mapping[str, PackManifest]) -> None:
    """A pack that governs `wire` would govern nothing of a tool `Wire`: who wrote one meant the other.

    Owners need no look of their own: what a pack owns stands in its manifest.
    """
    spelled: dict[str, tuple[str, str]] = {}
    for pack, manifest in manifests.items():
        for tool in manifest.tools:
            other, where = spelled.setdefault(tool.lower(), (tool, pack))
            if other != tool:
                raise PolicyLoadError(
                    f"{source}: {where!r} governs {other!r} and {pack!r} governs {tool!r}: "
                    "names of tools may not differ in upper and lower case alone"
                )


def read_owners(source: str, data: JsonObject, manifests: Mapping[str, PackManifest]) -> dict[str, str]:
    """The owner of each tool, from ``rego/aioc/owners/data.json``; sorted by tool.

    Raises:
        PolicyLoadError: an owner is not a pack here, or does not list the tool in its manifest.
    """
    given = value_at(data, "aioc", "owners")
    if given is None:
        return {}
    where = f"{source}: aioc/owners/data.json"
    if not isinstance(given, dict):
        raise PolicyLoadError(f"{where}: must be an object of tool and pack")
    owners: dict[str, str] = {}
    for tool, pack in sorted(given.items()):
        if not is_tool_name(tool):
            raise PolicyLoadError(f"{where}: {tool!r} is not a tool's name")
        if not isinstance(pack, str) or pack not in manifests:
            raise PolicyLoadError(f"{where}: the owner of {tool!r} is not a pack of this folder")
        if tool not in manifests[pack].tools:
            raise PolicyLoadError(f"{where}: {pack!r} owns {tool!r}, but its manifest does not list that tool")
        owners[tool] = pack
    return owners


def _read(source: str, pack: str, given: JsonValue) -> PackManifest:
    where = f"{source}: aioc/packs/{pack}/data.json: manifest"
    if not is_pack_name(pack):
        raise PolicyLoadError(f"{source}: aioc/packs/{pack}: a pack's name is [a-z][a-z0-9_]* and no Rego keyword")
    if not isinstance(given, dict):
        raise PolicyLoadError(f"{where}: is missing or not an object; every pack declares what it needs")
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise PolicyLoadError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
    title = given.get("title")
    if not isinstance(title, str) or not title.strip() or not title.isprintable() or len(title) > _MAX_TITLE:
        raise PolicyLoadError(f"{where}: title: must be one line of 1 to {_MAX_TITLE} characters")
    version = given.get("version")
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise PolicyLoadError(f"{where}: version: must be a string of 1 to 64 letters, digits and . _ + -")
    tools = given.get("tools")
    if not isinstance(tools, dict):
        raise PolicyLoadError(f"{where}: tools: must be an object of tool and needs")
    if pack == DEFAULT_PACK and tools:
        raise PolicyLoadError(f"{where}: tools: {DEFAULT_PACK!r} governs whatever nobody owns, and lists no tool")
    needs = {tool: _tool(f"{where}.tools.{tool}", tool, tools[tool]) for tool in sorted(tools)}
    data = _schema(where, "data", given.get("data", {}))
    return PackManifest(pack, version, title, needs, data, _codes(where, given.get("codes")))


def _tool(where: str, tool: str, given: JsonValue) -> ToolNeeds:
    if not is_tool_name(tool):
        raise PolicyLoadError(f"{where}: is not a tool's name: 1 to 128 of A-Z a-z 0-9 _ . : / -")
    if not isinstance(given, dict) or given.keys() - _TOOL_KEYS:
        raise PolicyLoadError(f"{where}: must be an object with the keys {', '.join(sorted(_TOOL_KEYS))}")
    require_raw = given.get("requireRaw", False)
    if not isinstance(require_raw, bool):
        raise PolicyLoadError(f"{where}.requireRaw: must be true or false")
    return ToolNeeds(_schema(where, "context", given.get("context")), require_raw)


def _schema(where: str, key: str, given: JsonValue) -> JsonObject:
    try:
        return check_needs_schema(given)
    except NeedsSchemaError as error:
        raise PolicyLoadError(f"{where}.{key}: {error}") from error


def _codes(where: str, given: JsonValue) -> frozenset[str]:
    if not isinstance(given, list):
        raise PolicyLoadError(f"{where}: codes: must be the list of codes that the pack's verdicts can have")
    codes: set[str] = set()
    for code in given:
        if not isinstance(code, str) or REASON_CODE.fullmatch(code) is None:
            raise PolicyLoadError(f"{where}: codes: a code is [a-z][a-z0-9_]{{0,63}}")
        if code in RESERVED or code in {ALLOWED, NO_RULE_ALLOWS}:
            raise PolicyLoadError(f"{where}: codes: {code!r} is the runtime's word; take another")
        if code in codes:
            raise PolicyLoadError(f"{where}: codes: {code!r} stands twice")
        codes.add(code)
    return frozenset(codes)
