"""`aioc-opa lint`: what `opa check` and Regal cannot know about a policy folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.routes import DEFAULT_FOLDER, PolicyFolder
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.packs.lint.finding import exit_code
from aioc_opa.packs.lint.runner import lint_policy

HELP: Final = """Lint a policy folder: METADATA, tests, routes, declared needs, builtins, what engines disagree on.

It needs an `opa` (AIOC_OPA_BIN, PATH, or --opa-binary), which checks the folder and decides the packs' samples.

\b
Exit status: 0 clean, or warnings only; 1 something was found; 2 wrong usage; 3 the folder or `opa` cannot be used.

\b
Examples:
  aioc-opa lint
  aioc-opa lint policies/rego --json
"""


def lint(
    folder: PolicyFolder = DEFAULT_FOLDER,
    *,
    opa_binary: Annotated[
        Path | None, typer.Option("--opa-binary", metavar="F", help="Absolute path of an `opa` to check with.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    findings = lint_policy(folder, opa_binary=find_opa_binary(opa_binary).path)
    if json:
        say(json_line({"findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            say(shown(finding, longest=2000))
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        say(count if findings else f"{shown(folder)}: clean")
    raise typer.Exit(int(ExitStatus.DIFFERENT if exit_code(findings) else ExitStatus.OK))
