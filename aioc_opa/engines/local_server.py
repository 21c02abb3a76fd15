"""A local `opa` on a TCP port of this machine, for other programs to ask: what docker-compose.yml does, without Docker.

Unlike the local engine it is open to whoever can connect, so what it answers and what it logs is the policy's to say,
as in production: ``package system.authz`` and ``package system.log`` must be there (`rego/system` has both).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import weakref
from typing import TYPE_CHECKING, Final, Self

from aioc_opa.engines.local_opa_process import OpaProcess, OpaStartError
from aioc_opa.engines.local_opa_staging import BUNDLE, Staging, private_folder
from aioc_opa.engines.local_opa_startup import DEFAULT_START_SECONDS, is_healthy
from aioc_opa.engines.opa_binary import find_opa_binary
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError
from aioc_opa.packs.module_head import package_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from aioc_opa.packs.policy_folder import LoadedPolicy

DEFAULT_ADDRESS: Final = "127.0.0.1:8181"

_ADDRESS: Final = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:]+)\]|(?P<host>[A-Za-z0-9.]+)):(?P<port>[1-9][0-9]{0,4})")
_MAX_PORT: Final = 65535
_REQUIRED: Final = ("system.authz", "system.log")
_PROBE_SECONDS: Final = 1.0


class LocalOpaServer:
    """An `opa` of our own on a loopback address, restarted when it ends, stopped by `close` and with us.

    Its log, decisions included, goes to our standard error.

    Args:
        policy: a loaded policy, with packages ``system.authz`` and ``system.log``.
        address: ``127.0.0.1:8181`` or the like. No other machine can reach it: that needs TLS and a token, and so an
            `opa` that you run yourself.
        opa_binary: as for `LocalOpaEngine`.
        start_seconds: how long the first start may take.

    Raises:
        EngineConfigurationError: no `opa` that may be used, an address that is taken or not of this machine alone.
        PolicyLoadError: the policy is refused.
    """

    def __init__(
        self,
        policy: LoadedPolicy,
        *,
        address: str = DEFAULT_ADDRESS,
        opa_binary: Path | None = None,
        start_seconds: float = DEFAULT_START_SECONDS,
    ) -> None:
        host, port = loopback_address(address)
        self.url: Final = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        packages = {".".join(package_of(text)) for text in policy.modules.values()}
        for package in _REQUIRED:
            if package not in packages:
                raise PolicyLoadError(
                    f"the policy has no package {package}: a server needs one, to say what it answers and what it logs;"
                    " copy rego/system into the policy folder"
                )
        self.binary: Final = find_opa_binary(opa_binary)
        _refuse_if_taken(host, port)
        staging = Staging(policy)
        place = private_folder()
        self._process: Final = OpaProcess(
            [
                str(self.binary.path),
                "run",
                "--server",
                f"--addr={self.url.removeprefix('http://')}",
                "--authorization=basic",
                "--skip-version-check",
                "--log-level=error",
                "--log-format=json",
                "--set=decision_logs.console=true",
                "--shutdown-grace-period=1",
                "--bundle",
                BUNDLE,
            ],
            folder=place,
            prepare=lambda: staging.write(place),
            is_up=lambda: is_healthy((host, port)),
            inherit_output=True,
        )
        self._finalizer: Final = weakref.finalize(self, self._process.stop)
        try:
            self._process.start(start_seconds)
        except OpaStartError:
            raise EngineConfigurationError(f"opa does not answer at {self.url}; what it wrote stands above") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Wait until it is closed, or a signal interrupts."""
        self._process.wait()

    def close(self) -> None:
        """Stop it."""
        self._finalizer()


def loopback_address(text: str) -> tuple[str, int]:
    """Split ``host:port``, where the host is an address of this machine alone.

    Raises:
        EngineConfigurationError: it is not.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise EngineConfigurationError(f"{text!r} is not an address and port such as {DEFAULT_ADDRESS}")
    host = "127.0.0.1" if match["host"] == "localhost" else match["ipv6"] or match["host"]
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise EngineConfigurationError(
            f"{text!r} is not a loopback address: whoever can reach an OPA server can ask it, so one for other machines"
            " needs TLS and a token; run `opa` yourself for that"
        )
    return host, int(match["port"])


def _refuse_if_taken(host: str, port: int) -> None:
    """Else another server's health would be taken for ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        if probe.connect_ex((host, port)) == 0:
            raise EngineConfigurationError(f"something answers at {host} port {port} already; choose another address")
