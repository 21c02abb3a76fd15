"""Running one permitted call, synchronously: recheck, use up what the effect takes, enter the handler once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioc_opa.arrival import give_back
from aioc_opa.handler_deadline import NotEnteredError, not_started, run_handler
from aioc_opa.models.outcome import Denied

if TYPE_CHECKING:
    from aioc_opa.execution_core import Begun, ExecutionCore
    from aioc_opa.permit import PermittedCall


class Execution:
    """One run of one permitted call. Use once."""

    def __init__(self, core: ExecutionCore, call: PermittedCall) -> None:
        self._core = core
        self._call = call
        self._entered = False

    def run(self) -> tuple[Denied | None, Any]:
        """The refusal, or what the handler returned.

        Raises:
            ToolExecutionError: the handler raised an error of this package's tree, or did not end in time.
            Exception: whatever else the handler raises.
        """
        try:
            # Providers first: whatever they do to the arguments, the recheck after them sees.
            try:
                injected = self._core.injected(self._call)
            except Exception as error:  # noqa: BLE001 - the handler was not entered: a deny
                return self._core.refused(self._call, self._core.injection_failed(self._call, error)), None
            begun = self._core.start(self._call)
            if isinstance(begun, Denied):
                return begun, None
            try:
                return None, self._enter(injected, begun)
            except NotEnteredError:
                self._entered = False
                return not_started(self._call), None
        finally:
            if not self._entered:
                give_back(self._call.reservation)

    def _enter(self, injected: dict[str, Any], begun: Begun) -> Any:
        def handler() -> Any:
            args, kwargs = self._call.tool.schema.bind(self._call.parsed)
            return self._call.tool.handler(*args, **kwargs, **injected)

        self._entered = True
        return run_handler(self._core, self._call, begun, handler)
