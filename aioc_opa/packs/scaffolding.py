"""Write a new pack that works as it stands: rules, test, data with a manifest, samples, README (`aioc-opa new pack`).

The text lies in ``template/``, and what goes with it in `scaffolding_rules`. What it writes passes our lint,
`opa check --strict` and `opa test`; a test says so.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Final

from aioc_opa.errors import PolicyLoadError
from aioc_opa.packs.data_documents import decode_document
from aioc_opa.packs.names import is_pack_name, is_tool_name
from aioc_opa.packs.pack_manifest import DEFAULT_PACK
from aioc_opa.packs.policy_root import check_is_policy
from aioc_opa.packs.routes import ROUTES_FILE
from aioc_opa.packs.routes_file import write_routes
from aioc_opa.packs.scaffolding_rules import STARTING_RULES, PackRules, required

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject

_OWNERS: Final = "aioc/owners/data.json"
_TEMPLATES: Final = {
    ".rego.tmpl": "{pack}.rego",
    "_test.rego.tmpl": "{pack}_test.rego",
    "_readme.tmpl": "README.md",
}


def new_pack(
    name: str, policy_dir: Path, *, tools: Sequence[str] = (), rules: PackRules = PackRules.ROLES
) -> list[Path]:
    """Write pack `name` below `policy_dir`, make it the owner of `tools`, and write the routes anew.

    Args:
        name: ``[a-z][a-z0-9_]*``, the folder and the last part of the package.
        policy_dir: the folder that holds ``aioc/``.
        tools: the tools that the pack's rules decide, each once; ``<name>_example`` when none is named.
        rules: what the pack starts with.

    Returns:
        What was written or changed.

    Raises:
        PolicyLoadError: a name is not acceptable, the pack is there, a tool has an owner, or nothing can be written.
    """
    tools = tuple(dict.fromkeys(tools)) or (f"{name}_example",)
    folder = policy_dir / "aioc" / "packs" / name
    if not is_pack_name(name) or name == DEFAULT_PACK:
        raise PolicyLoadError(
            f"{name!r}: a pack's name is [a-z][a-z0-9_]* and no Rego keyword; {DEFAULT_PACK!r} is taken"
        )
    for tool in tools:
        if not is_tool_name(tool):
            raise PolicyLoadError(f"{tool!r}: a tool's name is 1 to 128 of A-Z a-z 0-9 _ . : / -")
    check_is_policy(policy_dir)
    if folder.exists():
        raise PolicyLoadError(f"{folder}: is there already")
    owners = _owners(policy_dir)
    _check_unowned(policy_dir, owners, tools)
    files = {folder / path: text for path, text in _files(name, tools, rules)}
    files[policy_dir / _OWNERS] = _text({**owners, **dict.fromkeys(tools, name)})
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PolicyLoadError(f"{error.filename}: cannot be written: {error.strerror}") from error
    write_routes(policy_dir)
    return sorted({*files, policy_dir / ROUTES_FILE})


def _check_unowned(policy_dir: Path, owners: JsonObject, tools: Sequence[str]) -> None:
    spelled = {tool.lower(): tool for tool in owners}
    for tool in tools:
        if tool in owners:
            raise PolicyLoadError(f"{policy_dir / _OWNERS}: {tool!r} has an owner already: {owners[tool]}")
        # The loader would refuse it (`pack_manifest`), but only when everything had been written.
        other = spelled.setdefault(tool.lower(), tool)
        if other != tool:
            raise PolicyLoadError(
                f"{tool!r} and {other!r}: names of tools may not differ in upper and lower case alone"
            )


def _owners(policy_dir: Path) -> JsonObject:
    path = policy_dir / _OWNERS
    if not path.is_file():
        return {}
    return decode_document(str(policy_dir), _OWNERS, path.read_bytes())


def _files(pack: str, tools: Sequence[str], rules: PackRules) -> Iterator[tuple[str, str]]:
    templates = resources.files("aioc_opa.packs").joinpath("template")
    marks = {"@PACK@": pack, "@TOOLS@": _condition(tools), "@TOOL@": tools[0], "@TITLE@": _title(pack)}
    for template, path in _TEMPLATES.items():
        text = templates.joinpath(f"{rules}{template}").read_text(encoding="utf-8")
        for mark, value in marks.items():
            text = text.replace(mark, value)
        yield path.format(pack=pack), text
    yield "data.json", _text(_data(pack, tools, rules))
    for name, sample in STARTING_RULES[rules].samples(tools[0]).items():
        yield f"samples/{name}.json", _text(sample)


def _condition(tools: Sequence[str]) -> str:
    """What follows ``input.toolName``: with literals, which OPA indexes and `bundle inspect` reads."""
    if len(tools) == 1:
        return f'== "{tools[0]}"'
    return "in {" + ", ".join(f'"{tool}"' for tool in tools) + "}"


def _title(pack: str) -> str:
    return pack.replace("_", " ").capitalize()


def _data(pack: str, tools: Sequence[str], rules: PackRules) -> JsonObject:
    starting = STARTING_RULES[rules]
    tables = required({pack: required({starting.table: starting.table_schema})})
    return {
        "manifest": {
            "version": "1",
            "title": _title(pack),
            "tools": {tool: {"context": starting.context} for tool in tools},
            "data": required({"aioc": required({"packs": tables})}),
            "codes": list(starting.codes),
        },
        starting.table: starting.table_value,
    }


def _text(document: JsonObject) -> str:
    return json.dumps(document, indent=2, sort_keys=False) + "\n"
