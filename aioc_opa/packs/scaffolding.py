"""Write a new pack that works as it stands: rules, test, data with a manifest, samples, README (`aioc-opa new pack`).

The text lies in ``template/``. What it writes passes our lint, `opa check --strict` and `opa test`; a test says so.
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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioc_opa.core.json_value import JsonObject, JsonValue

_OWNERS: Final = "aioc/owners/data.json"
_TEMPLATES: Final = {"pack.rego": "{pack}.rego", "pack_test.rego": "{pack}_test.rego", "README.md": "README.md"}


def new_pack(name: str, policy_dir: Path, *, tool: str | None = None) -> list[Path]:
    """Write pack `name` below `policy_dir`, make it the owner of `tool`, and write the routes anew.

    Args:
        name: ``[a-z][a-z0-9_]*``, the folder and the last part of the package.
        policy_dir: the folder that holds ``aioc/``.
        tool: the tool that the pack's example rules decide; ``<name>_example`` when none is named.

    Returns:
        What was written or changed.

    Raises:
        PolicyLoadError: a name is not acceptable, the pack is there, the tool has an owner, or nothing can be written.
    """
    tool = tool or f"{name}_example"
    folder = policy_dir / "aioc" / "packs" / name
    if not is_pack_name(name) or name == DEFAULT_PACK:
        raise PolicyLoadError(
            f"{name!r}: a pack's name is [a-z][a-z0-9_]* and no Rego keyword; {DEFAULT_PACK!r} is taken"
        )
    if not is_tool_name(tool):
        raise PolicyLoadError(f"{tool!r}: a tool's name is 1 to 128 of A-Z a-z 0-9 _ . : / -")
    check_is_policy(policy_dir)
    if folder.exists():
        raise PolicyLoadError(f"{folder}: is there already")
    owners = _owners(policy_dir)
    if tool in owners:
        raise PolicyLoadError(f"{policy_dir / _OWNERS}: {tool!r} has an owner already: {owners[tool]}")
    files = {folder / path: text for path, text in _files(name, tool)}
    files[policy_dir / _OWNERS] = _text({**owners, tool: name})
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PolicyLoadError(f"{error.filename}: cannot be written: {error.strerror}") from error
    write_routes(policy_dir)
    return sorted({*files, policy_dir / ROUTES_FILE})


def _owners(policy_dir: Path) -> JsonObject:
    path = policy_dir / _OWNERS
    if not path.is_file():
        return {}
    return decode_document(str(policy_dir), _OWNERS, path.read_bytes())


def _files(pack: str, tool: str) -> Iterator[tuple[str, str]]:
    templates = resources.files("aioc_opa.packs").joinpath("template")
    for template, path in _TEMPLATES.items():
        text = templates.joinpath(f"{template}.tmpl").read_text(encoding="utf-8")
        for mark, value in (("@PACK@", pack), ("@TOOL@", tool), ("@TITLE@", _title(pack))):
            text = text.replace(mark, value)
        yield path.format(pack=pack), text
    yield "data.json", _text(_data(pack, tool))
    for name, sample in _samples(tool).items():
        yield f"samples/{name}.json", _text(sample)


def _title(pack: str) -> str:
    return pack.replace("_", " ").capitalize()


def _data(pack: str, tool: str) -> JsonObject:
    table: JsonObject = {"type": "object", "required": ["most"], "properties": {"most": {"type": "number"}}}
    schema = _object({"aioc": _object({"packs": _object({pack: _object({"limits": table})})})})
    return {
        "manifest": {
            "version": "1",
            "title": _title(pack),
            "tools": {tool: {"context": _object({"customerVerified": {"type": "boolean"}})}},
            "data": schema,
            "codes": [
                "amount_above_limit",
                "amount_not_positive",
                "customer_not_verified",
                "role_missing",
                "within_limits",
            ],
        },
        "limits": {"most": 100},
    }


def _object(properties: dict[str, JsonValue]) -> JsonObject:
    return {"type": "object", "required": list(properties), "properties": properties}


def _samples(tool: str) -> dict[str, JsonObject]:
    def sample(title: str, amount: float, verified: bool, decision: str, *reasons: str) -> JsonObject:  # noqa: FBT001 - local, and read by position in the table below
        return {
            "title": title,
            "call": {
                "agentName": "example_agent",
                "toolName": tool,
                "rawArguments": json.dumps({"amount": amount}),
                "runContext": {"context": {"customerVerified": verified}},
                "turn": 1,
                "principal": {"identity": "kim", "roles": ["operator"]},
            },
            "expected": {"decision": decision, "reasons": list(reasons)},
        }

    return {
        "within_limits": sample("Within limits", 50, True, "allow"),
        "above_limit": sample("Above the limit", 500, True, "deny", "amount_above_limit"),
        "below_zero": sample("Below zero", -500, True, "deny", "amount_not_positive"),
        "not_verified": sample("Customer not verified", 50, False, "approval_required", "customer_not_verified"),
    }


def _text(document: JsonObject) -> str:
    return json.dumps(document, indent=2, sort_keys=False) + "\n"
