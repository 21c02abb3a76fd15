"""The local engine: an `opa` server of our own on a Unix socket, asked as any OPA server is (design 4).

1. The binary is found and checked (`opa_binary`); its digest is in `LocalOpaEngine.binary`, for the audit.
2. A signed bundle is verified by OPA (`local_opa_signature`); the policy is loaded and checked as everywhere.
3. What was loaded, and nothing else, is staged in a private folder (`local_opa_staging`), with an authorization policy
   that answers the decision paths and health alone.
4. `opa` is started there with an empty environment (`local_opa_process`), and is up before the constructor returns.
5. Every answer must name the revision that was staged.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import EngineAnswer, EngineFailureError
from aioc_opa.core.reasons import Reason
from aioc_opa.engines.local_opa_process import OpaProcess, OpaStartError
from aioc_opa.engines.local_opa_signature import BundleVerification, verified_copy
from aioc_opa.engines.local_opa_staging import BUNDLE, SOCKET, Staging, private_folder
from aioc_opa.engines.local_opa_startup import DEFAULT_START_SECONDS, arguments, is_healthy, start_failure
from aioc_opa.engines.opa_binary import OpaBinary, find_opa_binary
from aioc_opa.engines.opa_server import AsyncOpaServerEngine, OpaServerEngine
from aioc_opa.engines.protocol import HANDOFF_POLICY_PATH, TOOL_ACCESS_PATH, TOOL_POLICY_PATH, DecisionPath
from aioc_opa.errors import EngineConfigurationError
from aioc_opa.packs.declared_codes import declared_codes
from aioc_opa.packs.policy_folder import LoadedPolicy, load_policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from aioc_opa.engines.deadline import Deadline

__all__ = ["BundleVerification", "LocalOpaEngine"]


class LocalOpaEngine:
    """An `opa` of our own, sync and async. Thread-safe; a forked child may ask it, but does not own it.

    Starting it blocks for some tenths of a second (0.25 s with this repository's policy). When it is killed,
    questions are denied as `policy_unavailable` until it is up again, by itself, with the same policy. Close it with
    `close`, or with `aclose` where it was asked from an event loop; it does not outlive this process in any case that
    Linux can prevent.

    Args:
        policy: a loaded policy, or the path of a policy folder or bundle.
        opa_binary: absolute path of `opa`; by default ``AIOC_OPA_BIN``, then ``opa`` on ``PATH``.
        verification: the bundle at the path `policy` must be signed like this.
        decision_paths: the only questions that it answers.
        folder: where to make the private folder; by default a temporary place.
        start_seconds: how long the first start may take.

    Raises:
        EngineConfigurationError: no `opa` that may be used, or it does not start here.
        PolicyLoadError: the policy is refused, by the loader or by OPA; the message names file and line.
    """

    def __init__(
        self,
        policy: LoadedPolicy | Path | str,
        *,
        opa_binary: Path | None = None,
        verification: BundleVerification | None = None,
        decision_paths: Sequence[DecisionPath] = (TOOL_POLICY_PATH, HANDOFF_POLICY_PATH, TOOL_ACCESS_PATH),
        folder: Path | None = None,
        start_seconds: float = DEFAULT_START_SECONDS,
    ) -> None:
        if not decision_paths:
            raise EngineConfigurationError("decision_paths is empty: this engine would answer nothing")
        self.binary: Final[OpaBinary] = find_opa_binary(opa_binary)
        source = Path(policy) if isinstance(policy, str) else policy
        loaded = load(source, binary=self.binary, verification=verification)
        self._loaded: Final = loaded
        self.policy_revision: Final = canonical_text({BUNDLE: loaded.revision})
        staging = Staging(loaded, decision_paths)
        place = private_folder(folder)
        path = place / SOCKET
        self._process: Final = OpaProcess(
            [str(self.binary.path), *arguments()],
            folder=place,
            prepare=lambda: staging.write(place),
            is_up=lambda: is_healthy(path),
            must_exist=path,
        )
        self._finalizer: Final = weakref.finalize(self, self._process.stop)
        self._sync: Final = OpaServerEngine(f"unix:{path}")
        self._async: Final = AsyncOpaServerEngine(f"unix:{path}")
        try:
            self._process.start(start_seconds)
        except OpaStartError as problem:
            raise start_failure(problem) from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(opa {self.binary.version}, {self.policy_revision})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def name(self) -> str:
        """``"local"``."""
        return "local"

    @property
    def declared_codes(self) -> frozenset[str]:
        """The reason codes that the packs of its policy declare.

        Raises:
            PolicyLoadError: as `packs.declared_codes.declared_codes`.
        """
        return declared_codes(self._loaded)

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """Ask for the decision at `path`, as `OpaServerEngine.evaluate` does.

        Raises:
            EngineFailureError: no usable answer; `reason` says which kind.
        """
        return self._checked(self._sync.evaluate(path, body, deadline))

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """As `evaluate`, from an event loop."""
        return self._checked(await self._async.evaluate_async(path, body, deadline))

    def close(self) -> None:
        """Stop `opa` and remove its folder. Later questions raise `EngineFailureError`. In a fork: let go of it."""
        self._sync.close()
        self._finalizer()

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        await self._async.aclose()
        await asyncio.to_thread(self.close)

    def _checked(self, answer: EngineAnswer) -> EngineAnswer:
        if answer.policy_revision != self.policy_revision:
            raise EngineFailureError(
                Reason.POLICY_REVISION_REJECTED,
                f"the local opa answered for {answer.policy_revision}, and {self.policy_revision} was staged",
            )
        return answer


def load(policy: LoadedPolicy | Path, *, binary: OpaBinary, verification: BundleVerification | None) -> LoadedPolicy:
    """The policy to stage; a bundle is verified first when `verification` is given.

    Raises:
        EngineConfigurationError: there is nothing whose signature could be verified.
        PolicyLoadError: the policy is refused.
    """
    if verification is None:
        return load_policy(policy) if isinstance(policy, Path) else policy
    if not isinstance(policy, Path) or not policy.is_file():
        raise EngineConfigurationError("verification needs the path of a signed bundle (.tar.gz)")
    into = Path(tempfile.mkdtemp(prefix="aioc-opa-bundle-"))
    try:
        copy = verified_copy(policy, verification, binary=binary, into=into)
        return load_policy(copy, unsafe_ignore_signature=True)  # OPA has just verified these very bytes
    finally:
        shutil.rmtree(into, ignore_errors=True)
