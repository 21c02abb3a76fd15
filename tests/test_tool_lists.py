"""Tool lists of MCP, OpenAI and Anthropic; errors name the place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from aioc_opa.errors import InputFileError
from aioc_opa.tool_lists import ToolDefinition, parse_tool_list, read_tool_list

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
EMPTY = {"type": "object", "properties": {}, "additionalProperties": False}
MCP = {"name": "t", "description": "d", "inputSchema": SCHEMA, "title": "T", "annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize(
    "value",
    [
        [MCP],
        {"tools": [MCP]},
        {"tools": [MCP], "nextCursor": None},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}},
        [{"type": "function", "function": {"name": "t", "description": "d", "parameters": SCHEMA, "strict": True}}],
        [{"type": "function", "name": "t", "description": "d", "parameters": SCHEMA, "strict": True}],
        [{"name": "t", "description": "d", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}],
        [{"type": "custom", "name": "t", "description": "d", "input_schema": SCHEMA}],
    ],
)
def test_every_form_gives_the_same_definition(value: Any) -> None:
    assert parse_tool_list(value, source="x") == (ToolDefinition("t", "d", SCHEMA),)


@pytest.mark.parametrize(
    "entry",
    [{"type": "function", "name": "t"}, {"type": "function", "function": {"name": "t", "parameters": None}}],
)
def test_an_openai_function_without_parameters_has_none(entry: Any) -> None:
    assert parse_tool_list([entry], source="x") == (ToolDefinition("t", "", EMPTY),)


def test_the_airline_tools_are_read(repository: Path) -> None:
    tools = read_tool_list(repository / "examples" / "airline" / "tools.json")
    assert len(tools) == 14
    assert tools[0].name == "book_reservation"
    assert "inputSchema" not in tools[0].schema
    assert "user_id" not in repr(tools[0])


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (3, "x: $: expected an array"),
        ({}, "x: $.tools: expected an array"),
        ([], "x: $: the list has no tool"),
        ({"tools": []}, "x: $.tools: the list has no tool"),
        ({"tools": [MCP], "nextCursor": "c"}, "x: $.nextCursor: only one page"),
        ({"result": {"tools": [MCP], "nextCursor": "c"}}, "x: $.result.nextCursor: only one page"),
        ({"result": {"tools": [3]}}, "x: $.result.tools[0]: a tool"),
        ({"result": {}}, "x: $.result.tools: expected an array"),
        ({"result": [MCP]}, "x: $.tools: expected an array"),
        ({"mcpServers": {"a": {"command": "c"}}}, "x: $.mcpServers: this is a client's configuration, not a tool list"),
        ([MCP, 3], "x: $[1]: a tool is a JSON object"),
        ([{"inputSchema": SCHEMA}], "x: $[0].name: "),
        ([{**MCP, "name": "bücher"}], "x: $[0].name: "),
        ([{**MCP, "name": "a b"}], "x: $[0].name: "),
        ([{**MCP, "name": "a" * 129}], "x: $[0].name: "),
        ([{**MCP, "name": "t\n"}], "x: $[0].name: "),
        ([{**MCP, "description": 3}], "x: $[0].description: "),
        ([{**MCP, "description": "d" * 65_537}], "x: $[0].description: "),
        ([{"name": "t"}], "x: $[0]: no schema"),
        ([{"name": "t", "inputSchema": True}], "x: $[0].inputSchema: "),
        ([{"name": "t", "input_schema": None}], "x: $[0].input_schema: "),
        ([{**MCP, "parameters": SCHEMA}], "x: $[0]: inputSchema and parameters"),
        ([{"type": "function", "function": 3}], "x: $[0].function: "),
        ([{"type": "function", "function": {"name": "t", "parameters": []}}], "x: $[0].function.parameters: "),
        ([{"type": "function", "function": {"parameters": SCHEMA}}], "x: $[0].function.name: "),
        ([{"type": "web_search_20250305", "name": "web_search"}], "x: $[0].type: not a function"),
        ([MCP, {**MCP, "name": "u"}, MCP], "x: $[2]: tool 't' is equal to 't' at $[0]"),
        ({"tools": [MCP, {**MCP, "name": "T"}]}, "x: $.tools[1]: tool 'T' is equal to 't' at $.tools[0]"),
    ],
)
def test_what_is_no_tool_list_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(InputFileError) as caught:
        parse_tool_list(value, source="x")
    assert str(caught.value).startswith(place)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InputFileError, match="cannot be read"):
            read_tool_list(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"name":"a","name":"b"}]', "duplicate_key"),
        (b"[", "unexpected_end"),
        (b"\xff", "invalid_utf8"),
        (b"", "empty_text"),
        (b"\xef\xbb\xbf[]", "byte_order_mark"),
        (b'"' + b"a" * (16 * 1024 * 1024) + b'"', "too_large"),
    ],
)
def test_a_file_that_is_not_strict_json_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=said):
        read_tool_list(path)


def test_what_was_read_can_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([MCP]))
    assert read_tool_list(path)[0].schema == SCHEMA
    assert read_tool_list(str(path)) == read_tool_list(path)
