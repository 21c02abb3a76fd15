"""Tool lists as agents carry them: MCP, OpenAI (chat and responses) and Anthropic, read into `ToolDefinition`.

The forms, told apart entry by entry by the key that holds the schema::

    MCP          {"name", "description"?, "inputSchema"}
    OpenAI chat  {"type": "function", "function": {"name", "description"?, "parameters"?}}
    OpenAI       {"type": "function", "name", "description"?, "parameters"?}
    Anthropic    {"name", "description"?, "input_schema"}

A list is a JSON array, or an object that holds it under ``tools`` (MCP's ``tools/list`` result), or the JSON-RPC
response with that result. Keys that do not matter here (``title``, ``strict``, ``annotations``, …) are passed over. A
tool that its provider runs (web search, code execution) is refused: its calls never come through a guard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aioc_opa.core.limits import HARD_MAX_DEPTH, HARD_MAX_NODES, JsonLimits
from aioc_opa.core.strict_json import StrictJsonError, decode
from aioc_opa.errors import InputFileError
from aioc_opa.tool_registry import TOOL_NAME

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject, JsonValue

TOOL_LIST_LIMITS: Final = JsonLimits(max_bytes=16 * 1024 * 1024, max_depth=HARD_MAX_DEPTH, max_nodes=HARD_MAX_NODES)
"""Of one tool list."""

MAX_DESCRIPTION: Final = 65_536
"""Characters of one description."""

_SCHEMA_KEYS: Final = ("inputSchema", "input_schema", "parameters")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool of a list.

    Attributes:
        name: ASCII, as `aioc_opa.tool_registry.TOOL_NAME` says.
        description: for models and reviewers; may be empty.
        schema: JSON Schema of the arguments, not yet compiled (`ToolGuard.register_json_schema` does that).
    """

    name: str
    description: str
    schema: JsonObject = field(repr=False)


def read_tool_list(path: Path | str) -> tuple[ToolDefinition, ...]:
    """The tools of the list in the file at `path`, in its order.

    Raises:
        InputFileError: it cannot be read, is not strict JSON, or is no tool list; the message has the place.
    """
    path = Path(path)
    try:
        with path.open("rb") as handle:
            content = handle.read(TOOL_LIST_LIMITS.max_bytes + 1)
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror or type(error).__name__}") from None
    try:
        value = decode(content, TOOL_LIST_LIMITS)
    except StrictJsonError as error:
        at = "" if error.offset is None else f" at character {error.offset}"
        raise InputFileError(f"{path}: not strict JSON{at}: {error.message} ({error.code})") from None
    return parse_tool_list(value, source=str(path))


def parse_tool_list(value: JsonValue, *, source: str) -> tuple[ToolDefinition, ...]:
    """The tools of a decoded list.

    Args:
        value: the list.
        source: names it in messages.

    Raises:
        InputFileError: it is no tool list; the message has the place.
    """
    entries, place = _entries(value, source)
    if type(entries) is not list:
        raise InputFileError(f"{source}: {place}: expected an array of tools (MCP, OpenAI or Anthropic)")
    if not entries:
        raise InputFileError(f"{source}: {place}: the list has no tool, so every call would be denied")
    tools: list[ToolDefinition] = []
    taken: dict[str, int] = {}
    for index, entry in enumerate(entries):
        here = f"{source}: {place}[{index}]"
        tool = _definition(entry, here)
        other = taken.setdefault(tool.name.casefold(), index)
        if other != index:
            raise InputFileError(
                f"{here}: tool {tool.name!r} is equal to {tools[other].name!r} at {place}[{other}]"
                " (case does not tell tools apart)"
            )
        tools.append(tool)
    return tuple(tools)


def _entries(value: JsonValue, source: str) -> tuple[JsonValue, str]:
    """What should be the array of tools, and its place."""
    if type(value) is not dict:
        return value, "$"
    if "mcpServers" in value:
        raise InputFileError(
            f"{source}: $.mcpServers: this is a client's configuration, not a tool list; save what the servers answer"
            " to tools/list"
        )
    listed, place = value, "$"
    result = value.get("result")
    if "tools" not in value and type(result) is dict:
        listed, place = result, "$.result"  # a whole JSON-RPC response
    if listed.get("nextCursor") is not None:
        raise InputFileError(
            f"{source}: {place}.nextCursor: only one page of a longer list; join all pages in one file"
        )
    return listed.get("tools"), f"{place}.tools"


def _definition(entry: JsonValue, here: str) -> ToolDefinition:
    if type(entry) is not dict:
        raise InputFileError(f"{here}: a tool is a JSON object")
    function: JsonObject = entry
    kind = entry.get("type")
    if kind == "function" and "function" in entry:
        inner = entry["function"]
        if type(inner) is not dict:
            raise InputFileError(f"{here}.function: expected an object with name and parameters")
        function, here = inner, f"{here}.function"
    elif kind not in (None, "function", "custom"):
        raise InputFileError(
            f"{here}.type: not a function: a tool that its provider runs does not come through a guard; take it out"
        )
    name = function.get("name")
    if type(name) is not str or TOOL_NAME.fullmatch(name) is None:
        raise InputFileError(
            f"{here}.name: expected 1 to 128 of A-Z a-z 0-9 _ . : / -, beginning with a letter, a digit or _"
        )
    description = function.get("description")
    if description is None:
        description = ""
    if type(description) is not str or len(description) > MAX_DESCRIPTION:
        raise InputFileError(f"{here}.description: expected a string of at most {MAX_DESCRIPTION} characters")
    return ToolDefinition(name, description, _schema(function, here, openai=kind == "function"))


def _schema(function: JsonObject, here: str, *, openai: bool) -> JsonObject:
    given = [key for key in _SCHEMA_KEYS if key in function]
    if len(given) > 1:
        raise InputFileError(f"{here}: {given[0]} and {given[1]} both give a schema; which one holds is unclear")
    if openai and (not given or function.get("parameters", {}) is None):
        # As the API reference of OpenAI has it: a function without parameters takes none.
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if not given:
        raise InputFileError(f"{here}: no schema: expected inputSchema (MCP), input_schema (Anthropic) or parameters")
    schema = function[given[0]]
    if type(schema) is not dict:
        raise InputFileError(f"{here}.{given[0]}: expected a JSON Schema object")
    return schema
