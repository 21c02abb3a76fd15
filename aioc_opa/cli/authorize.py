"""`aioc-opa authorize`: decide one call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.call_document import call_document
from aioc_opa.cli.deciding import ANY_REVISION, Decider
from aioc_opa.cli.decision_document import ENGINE_FAULTS, Document, verdict
from aioc_opa.cli.engine_options import (
    DEFAULT_ALGORITHM,
    DEFAULT_PATH,
    AlgorithmOption,
    CaFileOption,
    ClientCertOption,
    ClientKeyOption,
    DataOption,
    DeadlineOption,
    EngineOption,
    EngineOptions,
    OpaOption,
    PathOption,
    PolicyOption,
    PublicKeyOption,
    ScopeOption,
    TokenFileOption,
    ToolsOption,
    opened,
)
from aioc_opa.cli.exit_status import OF_OUTCOME, ExitStatus
from aioc_opa.cli.json_files import STDIN, read_object
from aioc_opa.cli.revision_options import AcceptRevisionOption, MinCounterOption, revision_gate
from aioc_opa.cli.terminal import json_line, say, shown, warn
from aioc_opa.guard_settings import DEFAULT_DEADLINE_SECONDS
from aioc_opa.tool_lists import read_tool_list

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
VerboseOption = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Log to standard error, engines' error texts included (they hold values)."),
]

_LABELS = (
    ("outcome", "outcome"),
    ("stage", "stage"),
    ("reason", "reason"),
    ("reasons", "reasons"),
    ("publicReason", "public reason"),
    ("proposalHash", "proposal hash"),
    ("argsCanonicalJson", "arguments"),
    ("policyRevision", "policy revision"),
    ("engine", "engine"),
)


HELP: Final = """Decide one tool call. Nothing is run.

CALL is a JSON object: agentName, toolName, rawArguments (the provider's exact string) or arguments (a decoded
object), and, when there are any, runContext {runId, context}, turn, callId, toolVersion, principal
{identity, tenant, roles, onBehalfOf}.

The output is for operators: reason is tool_not_registered where a caller is told tool_not_authorized, and the
arguments are in it. What a caller may read is publicReason.

\b
Exit status:
  0   allow
  10  deny
  11  approval_required
  12  invalid arguments: not strict JSON, or not what the tool's schema takes
  1   --engine both, and the two differ
  2   wrong usage
  3   a file cannot be read, or is not what it should be
  70  a fault of this program; 74 the output cannot be written (a closed pipe, a full disk)

\b
Examples:
  aioc-opa authorize call.json --tools tools.json --policy rego
  aioc-opa authorize call.json --tools tools.json --opa http://127.0.0.1:8181 --json
  aioc-opa authorize --tools tools.json --opa unix:/run/opa.sock < call.json
"""


def authorize(
    *,
    tools: ToolsOption,
    call: Annotated[Path, typer.Argument(metavar="CALL.json|-", help="The call; - or nothing: standard input.")] = Path(
        STDIN
    ),
    policy: PolicyOption = None,
    public_key: PublicKeyOption = None,
    algorithm: AlgorithmOption = DEFAULT_ALGORITHM,
    scope: ScopeOption = None,
    data: DataOption = None,
    engine: EngineOption = None,
    opa: OpaOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
    client_cert_file: ClientCertOption = None,
    client_key_file: ClientKeyOption = None,
    path: PathOption = DEFAULT_PATH,
    deadline: DeadlineOption = DEFAULT_DEADLINE_SECONDS,
    accept_revision: AcceptRevisionOption = None,
    min_counter: MinCounterOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=verbose)
    options = EngineOptions(
        policy=policy,
        data=data,
        engine=engine,
        opa=opa,
        token_file=token_file,
        ca_file=ca_file,
        client_cert_file=client_cert_file,
        client_key_file=client_key_file,
        path=path,
        public_key=public_key,
        algorithm=algorithm,
        scope=scope,
    )
    proposed = call_document(read_object(call))
    gate = revision_gate(accept_revision, min_counter)
    definitions = read_tool_list(tools)
    with opened(options) as engines:
        decider = Decider(engines, definitions, path=options.decision_path, deadline=deadline, gate=gate)
        document, differ = decider.decide(proposed)
    if json:
        say(json_line(document))
    else:
        _print(document)
    if gate is None:
        warn(ANY_REVISION)
    if differ:
        warn("the engines differ: " + differing(document))
    if any(each["reason"] in ENGINE_FAULTS for each in document.get("verdicts", [document])):
        warn(where_to_look(verbose=verbose))
    if differ:
        raise typer.Exit(int(ExitStatus.DIFFERENT))
    raise typer.Exit(int(OF_OUTCOME[document["outcome"]]))


def differing(document: Document) -> str:
    """What each engine said, for people."""
    return "; ".join(f"{shown(each['engine'])} says {shown(verdict(each))}" for each in document["verdicts"])


def where_to_look(*, verbose: bool) -> str:
    """What helps when no engine decided. The codes say no more, for an engine's words hold argument values."""
    doctor = "`aioc-opa doctor` with the same options"
    if verbose:
        return f"no engine decided this: see the log above, or run {doctor}"
    return f"no engine decided this: run again with --verbose for what the engine said, or {doctor}"


def _print(document: Document) -> None:
    for name, label in _LABELS:
        value = document[name]
        if isinstance(value, list):
            value = ", ".join(value)
        if value not in (None, ""):
            say(f"{label:16} {shown(value)}")
    for issue in document.get("issues", ()):
        place = "$" + "".join(f"[{part!r}]" for part in issue["path"])
        at = "" if issue["offset"] is None else f" at character {issue['offset']}"
        say(f"{'issue':16} {shown(place)}{at}: {shown(issue['message'])} ({shown(issue['code'])})")
    for requirement in document.get("approval", {}).get("requirements", ()):
        roles = " or ".join(requirement["approverRoles"])
        say(f"{'approval':16} {shown(requirement['code'])}: {requirement['quorum']} of {shown(roles)}")
    say(f"{'decided in':16} {document['durationMs']} ms")
