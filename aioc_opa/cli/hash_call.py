"""`aioc-opa hash`: the canonical arguments and the proposal hash of a call, for other languages to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.call_document import call_document
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.json_files import STDIN, read_object
from aioc_opa.cli.terminal import json_line, say, shown, warn
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.core.json_value import JsonObject
from aioc_opa.core.limits import ARGUMENT_LIMITS
from aioc_opa.core.preparation import prepare_call
from aioc_opa.core.tool_schemas.json_schema import JsonSchemaTool
from aioc_opa.errors import InputFileError, ToolArgumentsValidationError
from aioc_opa.tool_lists import read_tool_list

_ANYTHING: Final[JsonObject] = {"type": "object"}
"""Without a tool list: the arguments as they were sent, without defaults."""


HELP: Final = """Print argsCanonicalJson (RFC 8785) and proposalHash of a call.

proposalHash is the hex SHA-256 of the RFC 8785 text of {"kind":"tool","agentName","toolName","argsCanonicalJson"}.

\b
Exit status: 0 done; 12 invalid arguments; 2 wrong usage; 3 a file is not what it should be.

\b
Examples:
  aioc-opa hash call.json --tools tools.json
  echo '{"agentName":"a","toolName":"t","rawArguments":"{\\"b\\":1.0}"}' | aioc-opa hash --json
"""


def hash_call(
    *,
    call: Annotated[Path, typer.Argument(metavar="CALL.json|-", help="The call; - or nothing: standard input.")] = Path(
        STDIN
    ),
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="TOOLS", help="Tool list: its schema fills in defaults. Without: as sent."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    proposed = call_document(read_object(call))
    schema = _ANYTHING
    if tools is not None:
        found = {tool.name: tool.schema for tool in read_tool_list(tools)}
        if proposed.tool_name not in found:
            raise InputFileError(f"{proposed.source}: $.toolName: no such tool in {tools}")
        schema = found[proposed.tool_name]
    try:
        prepared = prepare_call(
            JsonSchemaTool(schema, tool_name=proposed.tool_name),
            proposed.arguments,
            tool_name=proposed.tool_name,
            limits=ARGUMENT_LIMITS,
            empty_arguments="reject",
        )
        digest = tool_proposal_hash(
            agent_name=proposed.agent_name,
            tool_name=proposed.tool_name,
            args_canonical_json=prepared.args_canonical_json,
        )
    except ToolArgumentsValidationError as error:
        warn(shown(error))
        raise typer.Exit(int(ExitStatus.INVALID_ARGUMENTS)) from None
    if json:
        say(json_line({"argsCanonicalJson": prepared.args_canonical_json, "proposalHash": digest}))
        return
    say(f"argsCanonicalJson  {shown(prepared.args_canonical_json, longest=100_000)}")
    say(f"proposalHash       {digest}")
