"""`aioc-opa doctor`: what is here, and whether a guard set up like this would work. In words."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.authorize import JsonOption, VerboseOption
from aioc_opa.cli.deciding import ANY_REVISION, make_guard
from aioc_opa.cli.doctor_extras import extra_findings
from aioc_opa.cli.doctor_finding import Finding
from aioc_opa.cli.doctor_server import DEFAULT_MAX_AGE_SECONDS, server_findings
from aioc_opa.cli.engine_options import (
    DEFAULT_PATH,
    CaFileOption,
    ClientCertOption,
    ClientKeyOption,
    DataOption,
    DeadlineOption,
    EngineName,
    EngineOption,
    EngineOptions,
    OpaOption,
    PathOption,
    PolicyOption,
    TokenFileOption,
    default_engine,
    opened,
)
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.json_files import read_object
from aioc_opa.cli.terminal import json_line, say, shown
from aioc_opa.engines.embedded_runtime import installed_version, load_regorus
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.errors import ConfigurationError, InputFileError, PolicyLoadError
from aioc_opa.guard_settings import DEFAULT_DEADLINE_SECONDS
from aioc_opa.packs.policy_folder import load_policy
from aioc_opa.packs.routes import has_routes, route_source
from aioc_opa.tool_lists import ToolDefinition, read_tool_list

if TYPE_CHECKING:
    from collections.abc import Iterator

HELP: Final = """Say what is installed, which engines can decide, and whether this set-up works.

The extras are listed with what each is for, and how to install one that is missing.

With --policy or --opa, each engine is asked for a probe decision about a tool that nobody owns: a sound policy denies
it, in a decision that echoes the question. A misspelt --path, a policy that is not loaded and a policy that allows
anything are found that way. With --tools, so are tools that no pack of the policy owns.

With --opa, the server itself is looked at: its version, the way to it, who may read and change its policy, its bundles
and when they were fetched, its decision log and its clock. Nothing is changed: what would be written is no policy, so
that no server can take it. What a well closed server does not show is said; --opa-config shows its configuration.

\b
Exit status: 0 all that was looked at works; 1 something does not; 2 wrong usage; 3 a file is not what it should be.

\b
Examples:
  aioc-opa doctor
  aioc-opa doctor --policy rego --engine both --tools tools.json
  aioc-opa doctor --opa http://127.0.0.1:8181
  aioc-opa doctor --opa unix:opa.sock --token-file token --opa-config opa.json
"""

EMBEDDED_IS_FOR: Final = "embedded is for trying out, CI and replay; production asks OPA"

_STAND_IN: Final = (ToolDefinition("aioc_opa_doctor", "", {"type": "object"}),)
"""A guard without tools is refused by its check; without --tools this one stands in."""


def doctor(
    *,
    tools: Annotated[
        Path | None, typer.Option("--tools", metavar="TOOLS", help="Tool list to compile as well.")
    ] = None,
    policy: PolicyOption = None,
    data: DataOption = None,
    engine: EngineOption = None,
    opa: OpaOption = None,
    token_file: TokenFileOption = None,
    ca_file: CaFileOption = None,
    client_cert_file: ClientCertOption = None,
    client_key_file: ClientKeyOption = None,
    opa_config: Annotated[
        Path | None,
        typer.Option("--opa-config", metavar="FILE", help="The configuration (JSON) of that OPA, to look at as well."),
    ] = None,
    max_age: Annotated[
        float,
        typer.Option(
            "--max-age", min=1.0, metavar="SECONDS", help="A bundle fetched longer ago is stale.", show_default=True
        ),
    ] = DEFAULT_MAX_AGE_SECONDS,
    path: PathOption = DEFAULT_PATH,
    deadline: DeadlineOption = DEFAULT_DEADLINE_SECONDS,
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=verbose)
    options = None
    if policy is not None or opa is not None or engine is not None:
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
        )
    if policy is not None and not policy.exists():
        raise InputFileError(f"{policy}: no such policy folder or bundle")
    if opa_config is not None and opa is None:
        raise typer.BadParameter("--opa-config is for --opa")
    config = None if opa_config is None else read_object(opa_config).value
    definitions = _STAND_IN if tools is None else read_tool_list(tools)
    findings = [_package(), _embedded(), _opa_binary(), *extra_findings(), *_set_up(options, definitions, deadline)]
    if options is not None and options.opa is not None:
        findings += server_findings(options, config=config, max_age_seconds=max_age)
    if json:
        say(json_line({"findings": [_as_json(each) for each in findings]}))
    else:
        width = max(len(each.topic) for each in findings) + 2
        for each in findings:
            mark = {True: "ok", False: "FAILS", None: "-"}[each.ok]
            first, *more = (shown(line, longest=4000) for line in each.text.expandtabs(4).split("\n"))
            say(f"{mark:6}{each.topic:{width}}{first}")
            for line in more:
                say(f"{'':{6 + width}}{line}")
    failed = any(each.ok is False for each in findings)
    raise typer.Exit(int(ExitStatus.DIFFERENT if failed else ExitStatus.OK))


def _package() -> Finding:
    return Finding("aioc-opa", ok=True, text=f"{version('aioc-opa')} on Python {platform.python_version()}")


def _embedded() -> Finding:
    try:
        load_regorus()
    except ConfigurationError as error:
        return Finding("embedded engine", None, f"{error} ({EMBEDDED_IS_FOR})")
    return Finding("embedded engine", ok=True, text=f"{installed_version()}; {EMBEDDED_IS_FOR}")


def _opa_binary() -> Finding:
    try:
        found = find_opa_binary()
    except ConfigurationError as error:
        return Finding("opa binary", None, f"{error} (needed by --engine local only)")
    return Finding("opa binary", ok=True, text=f"OPA {found.version} at {found.path}, sha256 {found.sha256}")


def _set_up(
    options: EngineOptions | None, definitions: tuple[ToolDefinition, ...], deadline: float
) -> Iterator[Finding]:
    if options is None:
        yield Finding("set-up", None, "not looked at; give --policy DIR, or --opa URL of a server that has the policy")
        return
    for each in _one_by_one(options):
        topic = f"{each.opa or each.engine} decides"
        try:
            yield Finding(topic, ok=True, text=_probe(each, definitions, deadline))
        except ConfigurationError as error:
            yield Finding(topic, ok=False, text=str(error))
    yield Finding("policy revision", None, ANY_REVISION)
    tools = "none given (--tools)" if definitions is _STAND_IN else f"{len(definitions)} compiled"
    yield Finding("tools", None if definitions is _STAND_IN else True, tools)
    if definitions is not _STAND_IN and options.policy is not None:
        yield from _owners(options.policy, definitions)


def _owners(policy: Path, definitions: tuple[ToolDefinition, ...]) -> Iterator[Finding]:
    """Tools that a policy of the library can never allow: only a tool's owner allows it (design 5)."""
    try:
        loaded = load_policy(policy)
    except PolicyLoadError:
        return  # said already, for the engine
    if not has_routes(loaded.modules):
        return
    owners = route_source(str(policy), loaded.modules, loaded.data).owners
    unowned = [tool.name for tool in definitions if tool.name not in owners]
    if not unowned:
        yield Finding("owners", ok=True, text="every tool has a pack that owns it")
    for name in unowned:
        text = f"no owner: {name}: every call of it is denied; `aioc-opa new pack NAME --tool {name}`"
        yield Finding("owners", ok=False, text=text)


def _one_by_one(options: EngineOptions) -> Iterator[EngineOptions]:
    """Each engine by itself, so that one that fails does not hide the other."""
    if options.opa is not None:
        yield options
        return
    chosen = options.engine or default_engine()
    for name in (EngineName.EMBEDDED, EngineName.LOCAL):
        if chosen in {name, EngineName.BOTH}:
            yield replace(options, engine=name)


def _probe(options: EngineOptions, definitions: tuple[ToolDefinition, ...], deadline: float) -> str:
    with opened(options) as engines:
        report = make_guard(engines[0], definitions, path=options.decision_path, deadline=deadline).check()
    revision = report.policy_revision or "none named: no approval could be bound to it"
    return (
        f"{report.engine} answered {report.rule} in {report.duration_ms:.1f} ms and denied the probe;"
        f" policy revision {revision}"
    )


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"topic": finding.topic, "ok": finding.ok, "text": finding.text}
