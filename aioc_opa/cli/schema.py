"""`aioc-opa schema …`: JSON Schemas of the tools' arguments and of the wire contract, for `opa check --schema`."""

from __future__ import annotations

import json as json_module
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.app import add, make_app
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.core.tool_schemas.json_schema_for_opa import for_opa_check
from aioc_opa.errors import InputFileError
from aioc_opa.models.json_schemas import contract_schemas
from aioc_opa.tool_lists import read_tool_list

if TYPE_CHECKING:
    from aioc_opa.core.json_value import JsonObject

HELP: Final = """Write the JSON Schema of each tool's arguments, for `opa check --schema`.

A rule that reads an argument that does not exist then fails to compile. Name the schema at the rule:

\b
    # METADATA
    # schemas:
    #   - input.parsedArguments: schema.tools.refund
    deny contains verdict if { input.parsedArguments.amuont > 100 ... }

With --out DIR, each tool becomes DIR/TOOL.json, and characters other than A-Z a-z 0-9 _ become _ in the file's name.
Without it, one document {tool: schema} is printed. A recursive $ref is cut off, for `opa check` cannot read one.

\b
Exit status: 0 done; 2 wrong usage; 3 the tool list, or a schema in it, is refused.

\b
Examples:
  aioc-opa schema export tools.json
  aioc-opa schema contract --out schemas
  aioc-opa schema export tools.json --out schemas/tools && opa check --strict --schema schemas -b rego
"""

CONTRACT_HELP: Final = """Write the JSON Schemas of what policies are asked and answer, for `opa check --schema`.

The library's rules name them: schema.tool_policy_input, schema.handoff_policy_input and schema.tool_access_input. With
--out DIR, each becomes DIR/NAME.json. Without it, one document {name: schema} is printed.

\b
Exit status: 0 done; 2 wrong usage; 3 the folder cannot be written.

\b
Examples:
  aioc-opa schema contract
  aioc-opa schema contract --out schemas && opa check --strict --schema schemas -b rego
"""

app: Final = make_app("""Schemas of the tools' arguments, and of what policies are asked and answer.

\b
Example:
  aioc-opa schema contract --out schemas
""")

OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder to write one file a schema into.")]


def export(
    tools: Annotated[Path, typer.Argument(metavar="TOOLS", help="Tool list: MCP, OpenAI or Anthropic.")],
    *,
    out: OutOption = None,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    schemas: dict[str, JsonObject] = {}
    for tool in read_tool_list(tools):
        # Compiled first: what could not be registered is not exported either.
        compiled = JsonSchemaTool(tool.schema, tool_name=tool.name).export()
        schemas[tool.name] = for_opa_check(compiled, tool_name=tool.name)
    _deliver(schemas, out)


def contract(*, out: OutOption = None) -> None:
    """The command; see `CONTRACT_HELP`."""
    logs.configure(verbose=False)
    _deliver(contract_schemas(), out)


def _deliver(schemas: dict[str, JsonObject], out: Path | None) -> None:
    if out is None:
        say(json_line(schemas))
        return
    for file, schema in _files(out, schemas).items():
        _write(file, schema)
        say(shown(file))


def _files(folder: Path, schemas: dict[str, JsonObject]) -> dict[Path, JsonObject]:
    taken: dict[str, str] = {}
    for name in schemas:
        stem = re.sub(r"[^A-Za-z0-9_]", "_", name)
        # Two names may differ in case only on some file systems; the tool list has refused those that do.
        other = taken.setdefault(stem.casefold(), name)
        if other != name:
            raise InputFileError(f"tools {other!r} and {name!r} would both be {stem}.json; rename one")
    return {folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}.json": schema for name, schema in schemas.items()}


def _write(file: Path, schema: JsonObject) -> None:
    text = json_module.dumps(schema, ensure_ascii=True, indent=2) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{file}: cannot be written: {reason or type(error).__name__}") from None


add(app, "export", export, HELP)
add(app, "contract", contract, CONTRACT_HELP)
