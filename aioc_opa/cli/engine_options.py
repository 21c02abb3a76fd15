"""The options that say who decides, and the engines they stand for.

Without `--opa` and `--engine`: local where an `opa` is given (`AIOC_OPA_BIN`, or on PATH), else embedded. An `opa` that
is there but may not be used (too old, writable by others) is an error, not a reason to judge with something else.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.cli.json_files import read_object
from aioc_opa.cli.terminal import warn
from aioc_opa.engines.opa_server import OpaServerEngine
from aioc_opa.engines.protocol import TOOL_POLICY_PATH, DecisionPath, Engine
from aioc_opa.errors import EngineConfigurationError, InputFileError
from aioc_opa.packs.policy_folder import load_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aioc_opa.packs.policy_folder import LoadedPolicy


class EngineName(StrEnum):
    """What `--engine` takes."""

    EMBEDDED = "embedded"
    LOCAL = "local"
    BOTH = "both"


ToolsOption = Annotated[
    Path,
    typer.Option("--tools", metavar="TOOLS", help="Tool list: MCP, OpenAI or Anthropic. Calls to others are denied."),
]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", metavar="DIR|BUNDLE", help="Policy folder, or bundle .tar.gz.")
]
PublicKeyOption = Annotated[
    Path | None, typer.Option("--public-key", metavar="PEM", help="The key that must have signed the bundle.")
]
AlgorithmOption = Annotated[
    str, typer.Option("--algorithm", metavar="ALG", help="Of that signature: RS256, ES256, ….", show_default=True)
]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", metavar="WORD", help="The scope that the signature has, if OPA asks for one.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="JSON object of more data, rooted at `data`.")
]
EngineOption = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        help="Who decides. `both` asks embedded and local and fails where they differ."
        " Default: local where an `opa` is found, else embedded.",
    ),
]
OpaOption = Annotated[
    str | None,
    typer.Option("--opa", metavar="URL|unix:PATH", help="A running OPA server; it has the policy: no --policy then."),
]
TokenFileOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="F", help="File with the bearer token for --opa.")
]
CaFileOption = Annotated[
    Path | None, typer.Option("--ca-file", metavar="F", help="Authorities (PEM) to trust for --opa https://….")
]
ClientCertOption = Annotated[
    Path | None, typer.Option("--client-cert-file", metavar="F", help="Our certificate (PEM), for mutual TLS.")
]
ClientKeyOption = Annotated[
    Path | None, typer.Option("--client-key-file", metavar="F", help="Its key (PEM), when in a file of its own.")
]
PathOption = Annotated[
    str, typer.Option("--path", metavar="PATH", help="Decision path below `data`.", show_default=True)
]
DeadlineOption = Annotated[
    float,
    typer.Option(
        "--deadline",
        min=0.001,
        max=3600.0,
        metavar="SECONDS",
        help="Time that one whole decision may take.",
        show_default=True,
    ),
]

DEFAULT_PATH: Final = TOOL_POLICY_PATH.text
DEFAULT_ALGORITHM: Final = "RS256"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The options as given."""

    policy: Path | None = None
    data: Path | None = None
    engine: EngineName | None = None
    opa: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
    path: str = DEFAULT_PATH
    public_key: Path | None = None
    algorithm: str = DEFAULT_ALGORITHM
    scope: str | None = None

    def __post_init__(self) -> None:
        """Refuse combinations that contradict themselves.

        Raises:
            typer.BadParameter: wrong usage, exit status 2.
        """
        of_server = {
            "--token-file": self.token_file,
            "--ca-file": self.ca_file,
            "--client-cert-file": self.client_cert_file,
            "--client-key-file": self.client_key_file,
        }
        if self.public_key is None and (self.scope is not None or self.algorithm != DEFAULT_ALGORITHM):
            raise typer.BadParameter("--algorithm and --scope are of a signature: give --public-key")
        if self.opa is None:
            _ = self.policy_path
            if self.public_key is not None and self.data is not None:
                raise typer.BadParameter("--data cannot go with --public-key: what was signed is all that decides")
            for name, given in of_server.items():
                if given is not None:
                    raise typer.BadParameter(f"{name} is for --opa")
            return
        for name, value in (
            ("--policy", self.policy),
            ("--data", self.data),
            ("--engine", self.engine),
            ("--public-key", self.public_key),
        ):
            if value is not None:
                raise typer.BadParameter(f"{name} cannot go with --opa: the server has the policy and its data")

    @property
    def policy_path(self) -> Path:
        """`policy`, given.

        Raises:
            typer.BadParameter: it is not.
        """
        if self.policy is None:
            raise typer.BadParameter("give --policy DIR (or a bundle), or --opa URL of a server that has the policy")
        return self.policy

    @property
    def decision_path(self) -> DecisionPath:
        """`path`, checked.

        Raises:
            typer.BadParameter: it is no decision path.
        """
        try:
            return DecisionPath(self.path)
        except EngineConfigurationError as error:
            raise typer.BadParameter(f"--path: {error}") from None


@contextmanager
def opened(options: EngineOptions) -> Iterator[tuple[Engine, ...]]:
    """The engines that `options` stand for, one or two (embedded first), closed at the end.

    Raises:
        typer.BadParameter: wrong usage.
        ConfigurationError: a file or an engine cannot be used.
    """
    path = options.decision_path
    with ExitStack() as stack:
        if options.opa is not None:
            engines: list[Engine] = [_server(options.opa, options)]
        else:
            policy = policy_of(options)
            chosen = options.engine or default_engine()
            engines = []
            if chosen in {EngineName.EMBEDDED, EngineName.BOTH}:
                engines.append(_embedded(policy))
            if chosen in {EngineName.LOCAL, EngineName.BOTH}:
                engines.append(_local(policy, path))
        for engine in engines:
            stack.callback(engine.close)
        yield tuple(engines)


def default_engine() -> EngineName:
    """Local where an `opa` is given, whether it may be used or not; else embedded."""
    if os.environ.get("AIOC_OPA_BIN") or shutil.which("opa"):
        return EngineName.LOCAL
    warn(
        "no `opa` is given (AIOC_OPA_BIN, PATH): deciding with the embedded engine, which is for trying out, CI and"
        " replay; production asks OPA"
    )
    return EngineName.EMBEDDED


def policy_of(options: EngineOptions) -> LoadedPolicy:
    """The policy that is named; a signed bundle once an `opa` has verified it.

    Raises:
        PolicyLoadError: it is refused.
        InputFileError: a file cannot be read.
    """
    if options.public_key is not None:
        return _signed(options, options.public_key)
    extra = None if options.data is None else read_object(options.data).value
    return load_policy(options.policy_path, extra_data=extra)


def _signed(options: EngineOptions, public_key: Path) -> LoadedPolicy:
    from aioc_opa.engines.local_opa import load  # noqa: PLC0415 - runs processes; only when asked for
    from aioc_opa.engines.local_opa_signature import BundleVerification  # noqa: PLC0415 - likewise
    from aioc_opa.engines.opa_binary import find_opa_binary  # noqa: PLC0415 - likewise

    if not options.policy_path.is_file():
        raise InputFileError(f"--policy {options.policy_path}: with --public-key it must be a signed bundle (.tar.gz)")
    verification = BundleVerification(public_key_file=public_key, algorithm=options.algorithm, scope=options.scope)
    return load(options.policy_path, binary=find_opa_binary(None), verification=verification)


def _embedded(policy: LoadedPolicy) -> Engine:
    from aioc_opa.engines.embedded import EmbeddedEngine  # noqa: PLC0415 - an extra, imported when asked for

    return EmbeddedEngine(policy)


def _local(policy: LoadedPolicy, path: DecisionPath) -> Engine:
    from aioc_opa.engines.local_opa import LocalOpaEngine  # noqa: PLC0415 - starts processes; only when asked for

    return LocalOpaEngine(policy, decision_paths=(path,))


def _server(url: str, options: EngineOptions) -> Engine:
    files = (
        ("--token-file", options.token_file),
        ("--ca-file", options.ca_file),
        ("--client-cert-file", options.client_cert_file),
        ("--client-key-file", options.client_key_file),
    )
    for name, file in files:
        if file is not None:
            _readable(name, file)
    try:
        return OpaServerEngine(
            url,
            token_file=options.token_file,
            ca_file=options.ca_file,
            client_cert_file=options.client_cert_file,
            client_key_file=options.client_key_file,
        )
    except EngineConfigurationError as error:
        raise typer.BadParameter(str(error)) from None


def _readable(option: str, file: Path) -> None:
    try:
        file.open("rb").close()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{option} {file}: cannot be read: {reason or type(error).__name__}") from None
