"""Running one permitted call from an event loop: recheck, use up what the effect takes, enter the handler once.

A handler that is a plain function runs in a thread, and everything up to it in that thread too, so that nothing lies
between the last recheck and the handler. For an async handler only the store's steps are in a thread.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any

from aioc_opa.delivery import escaped_from_handler, outcome_unknown
from aioc_opa.errors import AiocOpaError
from aioc_opa.handler_deadline import NotEnteredError, not_started, run_handler
from aioc_opa.models.outcome import Denied
from aioc_opa.tool_registry import is_async

if TYPE_CHECKING:
    from aioc_opa.access.budgets import Reservation
    from aioc_opa.approvals.records import EffectOutcome
    from aioc_opa.execution_core import Begun, ExecutionCore
    from aioc_opa.permit import PermittedCall


class AsyncExecution:
    """One run of one permitted call. Use once."""

    def __init__(self, core: ExecutionCore, call: PermittedCall) -> None:
        self._core = core
        self._call = call
        self._injected: dict[str, Any] = {}
        # Whoever takes it first decides whether the handler is entered: the run, or its cancellation.
        self._turn = threading.Lock()

    async def run(self) -> tuple[Denied | None, Any]:
        """The refusal, or what the handler returned.

        Raises:
            ToolExecutionError: the handler raised an error of this package's tree, or did not end in time.
            Exception: whatever else the handler raises.
        """
        try:
            # Providers first: whatever they do to the arguments, the recheck after them sees.
            try:
                self._injected = {name: await given(value) for name, value in self._core.injected(self._call).items()}
            except Exception as error:  # noqa: BLE001 - the handler was not entered: a deny
                return self._core.refused(self._call, self._core.injection_failed(self._call, error)), None
            if is_async(self._call.tool.handler):
                return await self._in_loop()
            return await asyncio.to_thread(self._in_thread)
        finally:
            if self._turn.acquire(blocking=False):  # never entered, and from now on it cannot be
                given_back(self._call.reservation)

    def _in_thread(self) -> tuple[Denied | None, Any]:
        begun = self._core.start(self._call)
        if isinstance(begun, Denied):
            return begun, None
        if not self._turn.acquire(blocking=False):
            self._core.finish(self._call, begun, "not_entered")
            return None, None  # nobody waits for this: its task was cancelled
        try:
            return None, run_handler(self._core, self._call, begun, self._handler)
        except NotEnteredError:
            self._turn.release()
            return not_started(self._call), None
        except StopIteration as error:
            # No future can carry a StopIteration (PEP 479): awaiting it would never end.
            raise RuntimeError("the handler raised StopIteration") from error

    async def _in_loop(self) -> tuple[Denied | None, Any]:
        blocks = self._core.blocks(self._call)
        begun = await self._begun() if blocks else self._core.start(self._call)
        if isinstance(begun, Denied):
            return begun, None
        if blocks and (refused := self._core.changed(self._call)) is not None:
            # It changed while the thread handed over.
            await asyncio.shield(asyncio.to_thread(self._core.finish, self._call, begun, "not_entered"))
            return refused, None
        self._turn.acquire(blocking=False)
        ended: EffectOutcome = "unknown"  # what a cancellation in the middle of the handler leaves
        deadline = asyncio.timeout(self._call.tool.handler_seconds)
        try:
            async with deadline:
                result = await self._handler()
            ended = "returned"
        except AiocOpaError as error:
            ended = "raised"
            raise escaped_from_handler(error, self._call.tool.name) from error
        except TimeoutError as error:
            if not deadline.expired():
                ended = "raised"
                raise
            raise outcome_unknown(self._call.tool.name) from error
        except Exception:
            ended = "raised"
            raise
        finally:
            if blocks:
                await asyncio.shield(asyncio.to_thread(self._core.finish, self._call, begun, ended))
            else:
                self._core.finish(self._call, begun, ended)
        return None, result

    async def _begun(self) -> Begun | Denied:
        begun = asyncio.ensure_future(asyncio.to_thread(self._core.start, self._call))
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            # What the thread does cannot be called back. When it has ended, say that nothing ran.
            begun.add_done_callback(self._not_entered)
            raise

    def _not_entered(self, done: asyncio.Future[Begun | Denied]) -> None:
        begun = None if done.cancelled() or done.exception() is not None else done.result()
        if begun is not None and not isinstance(begun, Denied):
            # A thread of its own: the loop's may be closing with the cancelled task.
            threading.Thread(
                target=self._core.finish, args=(self._call, begun, "not_entered"), name="aioc-opa-not-entered"
            ).start()

    def _handler(self) -> Any:
        args, kwargs = self._call.tool.schema.bind(self._call.parsed)
        return self._call.tool.handler(*args, **kwargs, **self._injected)


async def given(value: Any) -> Any:
    """`value`, awaited where a provider gave an awaitable."""
    return await value if inspect.isawaitable(value) else value


def given_back(reservation: Reservation | None) -> None:
    """`give_back` from an event loop: a budget in a database is given back in a thread, and not waited for."""
    if reservation is not None:
        reservation.release_elsewhere()
