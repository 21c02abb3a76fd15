"""The optional deadline of a plain handler: past it nobody waits, and its outcome is unknown, never a denial.

A thread cannot be stopped, so what runs past its deadline may go on and have its effect. The run is written down as
``unknown`` at the deadline, and as what became of it when it ends after all. (Trussium bounds its handlers too.)
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.reasons import Reason
from aioc_opa.delivery import escaped_from_handler, outcome_unknown
from aioc_opa.denials import denied
from aioc_opa.errors import AiocOpaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aioc_opa.approvals.records import EffectOutcome
    from aioc_opa.execution_core import Begun, ExecutionCore
    from aioc_opa.models.outcome import Denied
    from aioc_opa.permit import PermittedCall

logger: Final = logging.getLogger("aioc_opa.guard")


class NotEnteredError(Exception):
    """No thread could be started: the handler was not entered, and that is written down."""


def not_started(call: PermittedCall) -> Denied:
    """The deny for a call whose handler was not entered for want of a thread."""
    logger.error("denied %s: no thread could be started for its handler", call.tool.name)
    return denied(Reason.PERMIT_INVALID, time.perf_counter(), stage="permit", question=call.question)


def run_handler(core: ExecutionCore, call: PermittedCall, begun: Begun, handler: Callable[[], Any]) -> Any:
    """Enter a plain handler once and write how it ended.

    Args:
        core: of the guard.
        call: what was permitted.
        begun: what `ExecutionCore.start` gave.
        handler: the tool's, with its arguments.

    Returns:
        What the handler returned.

    Raises:
        NotEnteredError: it was not entered.
        ToolOutcomeUnknownError: it did not end within the tool's `handler_seconds`.
        ToolExecutionError: it raised an error of this package's tree.
        BaseException: whatever else it raises.
    """
    seconds = call.tool.handler_seconds
    if seconds is None:
        return _noted(call, handler, lambda outcome: core.finish(call, begun, outcome))
    bounded = _Bounded(core, call, begun, handler)
    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(bounded.run,), name="aioc-opa-handler", daemon=True
    )
    try:
        thread.start()
    except RuntimeError:
        core.finish(call, begun, "not_entered")
        raise NotEnteredError from None
    try:
        bounded.entered.wait()  # its time begins when it is entered
        bounded.over.wait(seconds)
    except BaseException:  # an interrupt: nobody waits any more
        bounded.given_up()
        raise
    if bounded.given_up():
        raise outcome_unknown(call.tool.name)
    bounded.over.wait()  # it has ended, and that is being written
    if bounded.error is not None:
        raise bounded.error
    return bounded.result


class _Bounded:
    """One run of a handler in a thread of its own, which either ends or is given up first."""

    def __init__(self, core: ExecutionCore, call: PermittedCall, begun: Begun, handler: Callable[[], Any]) -> None:
        self._core = core
        self._call = call
        self._begun = begun
        self._handler = handler
        self._lock = threading.Lock()
        self._ended = False
        self._late = False
        self.entered = threading.Event()
        self.over = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        self.entered.set()
        try:
            self.result = _noted(self._call, self._handler, self._end)
        except BaseException as error:  # noqa: BLE001 - raised again where the call waits
            self.error = error
        finally:
            self.over.set()

    def given_up(self) -> bool:
        """Stop waiting, and write that the outcome is unknown; False when the handler has ended after all."""
        with self._lock:
            if self._ended:
                return False
            self._late = True
        self._core.finish(self._call, self._begun, "unknown")
        return True

    def _end(self, outcome: EffectOutcome) -> None:
        with self._lock:
            self._ended = True
        if self._late:
            # The audit has its one end of this execution; the store learns what the outcome was.
            self._core.end_effect(self._begun.intent, outcome)
        else:
            self._core.finish(self._call, self._begun, outcome)


def _noted(call: PermittedCall, handler: Callable[[], Any], finish: Callable[[EffectOutcome], None]) -> Any:
    ended: EffectOutcome = "unknown"  # what an interrupt in the middle of the handler leaves
    try:
        result = handler()
        ended = "returned"
    except AiocOpaError as error:
        ended = "raised"
        raise escaped_from_handler(error, call.tool.name) from error
    except Exception:
        ended = "raised"
        raise
    finally:
        finish(ended)
    return result
