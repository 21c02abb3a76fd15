"""`aioc-opa replay`: decide many recorded calls, in order, and compare with what was expected."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption, VerboseOption, differing, where_to_look
from aioc_opa.cli.call_document import CallDocument, call_document, text_at
from aioc_opa.cli.deciding import ANY_REVISION, Decider
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
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.expectations import MOST_KEPT, read_expected
from aioc_opa.cli.json_files import count_lines, read_lines
from aioc_opa.cli.replay_summary import Summary
from aioc_opa.cli.revision_options import AcceptRevisionOption, MinCounterOption, revision_gate
from aioc_opa.cli.terminal import json_line, say, shown, stderr_console, warn
from aioc_opa.errors import InputFileError
from aioc_opa.guard_settings import DEFAULT_DEADLINE_SECONDS
from aioc_opa.tool_lists import read_tool_list

if TYPE_CHECKING:
    from collections.abc import Iterator


HELP: Final = """Decide recorded calls, in order. Nothing is run.

Each line of CALLS.jsonl is a CALL as `authorize` takes it, with an id. Each line of --out is that id
and the document that `authorize --json` prints.

\b
Exit status:
  0   decided; every expectation met
  1   an expectation differs (the first ten are shown), --engine both and the two differ, or a call that no
      engine decided: policy_unavailable, policy_timeout and the like
  2   wrong usage
  3   a file cannot be read, or is not what it should be
  70  a fault of this program; 74 the output cannot be written (a closed pipe, a full disk)

\b
Examples:
  aioc-opa replay calls.jsonl --tools tools.json --policy rego
  aioc-opa replay calls.jsonl --tools tools.json --policy rego --expect expected.jsonl --engine both
  aioc-opa replay calls.jsonl --tools tools.json --opa http://127.0.0.1:8181 --out decisions.jsonl
  aioc-opa replay calls.jsonl --tools tools.json --policy signed.tar.gz --public-key signing.pub.pem
"""


def replay(
    *,
    calls: Annotated[list[Path], typer.Argument(metavar="CALLS.jsonl…", help="One call a line, each with an id.")],
    tools: ToolsOption,
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
    expect: Annotated[
        Path | None,
        typer.Option("--expect", metavar="EXPECTED.jsonl", help='Lines of {"id", "decision", "reasons", "reason"?}.'),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DECISIONS.jsonl", help="Write each decision, with its id, as a line."),
    ] = None,
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
    gate = revision_gate(accept_revision, min_counter)
    definitions = read_tool_list(tools)
    summary = Summary(None if expect is None else read_expected(expect))
    total = sum(count_lines(each) for each in calls)
    if not total:
        raise InputFileError(f"{calls[0]}: no call in it")
    with ExitStack() as stack:
        engines = stack.enter_context(opened(options))
        lines = None if out is None else stack.enter_context(_written(out))
        decider = Decider(engines, definitions, path=options.decision_path, deadline=deadline, gate=gate)
        with _progress() as progress:
            task = progress.add_task("deciding", total=total)
            for identifier, call in _calls(calls):
                document, differ = decider.decide(call)
                summary.add(identifier, call.tool_name, document)
                if differ and summary.engines_differ <= MOST_KEPT:
                    warn(f"{shown(identifier)}: the engines differ: {differing(document)}")
                if lines is not None:
                    lines.write(json_line({"id": identifier, **document}) + "\n")
                progress.advance(task)
    if summary.comparison is not None:
        summary.comparison.close()
    if json:
        say(json_line(summary.document()))
    else:
        summary.print()
    if gate is None:
        warn(ANY_REVISION)
    if summary.runtime:
        warn(f"{summary.runtime} calls were denied by the runtime, not by policy; see the reasons")
        warn(where_to_look(verbose=verbose))
    raise typer.Exit(int(ExitStatus.DIFFERENT if summary.failed else ExitStatus.OK))


def _calls(paths: list[Path]) -> Iterator[tuple[str, CallDocument]]:
    seen: set[str] = set()
    for path in paths:
        for document in read_lines(path):
            identifier = text_at(document, "id")
            if identifier in seen:
                raise InputFileError(f"{document.source}: $.id: an earlier line has this id")
            seen.add(identifier)
            yield identifier, call_document(document)


@contextmanager
def _written(path: Path) -> Iterator[TextIO]:
    try:
        handle = path.open("w", encoding="ascii", newline="\n")
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    try:
        with handle:
            yield handle
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: Exception) -> InputFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return InputFileError(f"{path}: cannot be written: {reason or type(error).__name__}")


def _progress() -> Progress:
    console = stderr_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
