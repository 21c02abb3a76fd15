"""`aioc-opa serve`: an OPA server on this machine, with a policy; what docker-compose.yml does, without Docker."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.engine_options import (
    DEFAULT_ALGORITHM,
    AlgorithmOption,
    DataOption,
    EngineOptions,
    PublicKeyOption,
    ScopeOption,
    policy_of,
)
from aioc_opa.cli.terminal import say, shown
from aioc_opa.engines.local_server import DEFAULT_ADDRESS, LocalOpaServer, loopback_address
from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from types import FrameType

HELP: Final = """Serve a policy with an OPA of our own, for other programs on this machine to ask.

It answers what the policy's package system.authz allows (in rego/: the two decisions and /health), and logs each
decision to standard error as package system.log masks it. Policies are read once, at the start; of a signed bundle,
--public-key says who must have signed it. Ctrl-C stops it.

\b
Exit status: 0 stopped; 2 wrong usage; 3 the policy or the opa cannot be used, or the address is taken.

\b
Examples:
  aioc-opa serve --policy rego
  aioc-opa serve --policy rego --addr 127.0.0.1:9191
  aioc-opa serve --policy tools.tar.gz --public-key signing.pub.pem
  aioc-opa authorize call.json --tools tools.json --opa http://127.0.0.1:8181
"""


def serve(
    *,
    policy: Annotated[Path, typer.Option("--policy", metavar="DIR|BUNDLE", help="Policy folder, or bundle .tar.gz.")],
    public_key: PublicKeyOption = None,
    algorithm: AlgorithmOption = DEFAULT_ALGORITHM,
    scope: ScopeOption = None,
    data: DataOption = None,
    addr: Annotated[
        str, typer.Option("--addr", metavar="HOST:PORT", help="Loopback address to listen on.", show_default=True)
    ] = DEFAULT_ADDRESS,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=False)
    try:
        loopback_address(addr)
    except EngineConfigurationError as error:
        raise typer.BadParameter(f"--addr: {error}") from None
    options = EngineOptions(policy=policy, public_key=public_key, algorithm=algorithm, scope=scope, data=data)
    loaded = policy_of(options)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with LocalOpaServer(loaded, address=addr) as server:
            say(f"OPA {server.binary.version} serves {shown(policy)} at {server.url}")
            say(f"revision {shown(loaded.revision)}")
            server.wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """A request to end (SIGTERM, from a service manager) is one to stop, as Ctrl-C is."""
    raise KeyboardInterrupt
