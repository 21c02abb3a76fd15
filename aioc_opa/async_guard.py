"""`AsyncToolGuard`: the policy enforcement point in front of an agent's tools, for event loops.

The same pipeline as `ToolGuard` over the same core; only asking the engine and running the handler await.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Unpack

from aioc_opa.call_request import CallOptions, CallRequest, HandoffOptions
from aioc_opa.delivery import deliver, escaped_from_handler
from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.embedded import EmbeddedEngine
from aioc_opa.engines.local_opa import LocalOpaEngine
from aioc_opa.engines.opa_server_async import AsyncOpaServerEngine
from aioc_opa.engines.protocol import AsyncEngine
from aioc_opa.errors import AiocOpaError, ConfigurationError
from aioc_opa.guard_base import GuardBase
from aioc_opa.guard_check import CheckReport, handoff_probe, judge_handoff_probe, report, tool_probe
from aioc_opa.guard_core import Attempt
from aioc_opa.guard_settings import GuardSettings, SettingsDict
from aioc_opa.handoff_core import HandoffAttempt, begin_handoff, conclude_handoff
from aioc_opa.models.outcome import Allowed, Denied, HandoffAllowed, HandoffDenied, HandoffSuspended, Suspended
from aioc_opa.tool_registry import is_async

if TYPE_CHECKING:
    from aioc_opa.core.engine_answer import EngineAnswer
    from aioc_opa.core.json_value import JsonObject
    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.models.refusal_result import RefusalResult
    from aioc_opa.permit import PermittedCall


class AsyncToolGuard(GuardBase):
    """Decides and runs tool calls. Task-safe within one event loop.

    A handler that is a plain function runs in a thread (`asyncio.to_thread`), an async one in the loop.

    Args:
        engine: the policy decision point; required.
        **settings: see `GuardSettings`.

    Raises:
        ConfigurationError: no engine, or a setting that cannot be.
    """

    _takes_async_handlers = True

    def __init__(self, engine: AsyncEngine, **settings: Unpack[SettingsDict]) -> None:
        if not isinstance(engine, AsyncEngine):
            raise ConfigurationError(
                "AsyncToolGuard needs an engine, for example AsyncOpaServerEngine('http://127.0.0.1:8181'); "
                f"{type(engine).__name__} is none (a synchronous engine goes to ToolGuard)"
            )
        super().__init__(GuardSettings(**settings))
        self._engine = engine
        # Exactly our own engines, which are tested to keep their deadlines; any other one is held to it here.
        self._engine_keeps_deadlines = type(engine) in (AsyncOpaServerEngine, LocalOpaEngine, EmbeddedEngine)

    async def authorize(
        self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[CallOptions]
    ) -> Allowed | Denied | Suspended:
        """Decide one call, without running it.

        Args:
            tool_name: the registered tool.
            raw_arguments: the provider's exact string; or a plain dict, where a framework has decoded it already.
            **options: ``agent_name`` and what else surrounds the call, see `CallOptions`.

        Returns:
            `Allowed` with a single-use permit, `Denied`, or `Suspended` with the proposal.

        Raises:
            ToolArgumentsValidationError: the arguments are refused; policy was not asked.
        """
        request = CallRequest.of_call(tool_name, raw_arguments, **options)
        attempt = self._core.begin(request, Deadline.after(self.settings.deadline))
        if not isinstance(attempt, Attempt):
            return attempt
        return self._core.conclude(attempt, await self._ask(self.settings.tool_path, attempt))

    async def execute(self, permit: object) -> Any:
        """Run the call that `permit` stands for, once.

        Returns:
            What the handler returns; or a `RefusalResult` in mode ``tool_result`` when the permit is refused.

        Raises:
            ToolCallPolicyDeniedError: the permit is used, late or another guard's, or the arguments have changed.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        call = self._core.redeem(permit)
        if isinstance(call, Denied):
            return deliver(call, self.settings.result_mode)
        return await self._run(call)

    async def call(self, tool_name: str, raw_arguments: str | dict[str, Any], **options: Unpack[CallOptions]) -> Any:
        """Decide one call and, if it is allowed, run it. Arguments as for `authorize`.

        Returns:
            What the handler returns; or a `RefusalResult` in mode ``tool_result``.

        Raises:
            ToolArgumentsValidationError: the arguments are refused; policy was not asked.
            ToolCallPolicyDeniedError: denied, in mode ``throw``.
            ToolCallApprovalRequiredError: a person must approve first, in mode ``throw``.
            ToolExecutionError: the handler was entered and raised an error of this package's tree.
        """
        outcome = await self.authorize(tool_name, raw_arguments, **options)
        if isinstance(outcome, Allowed):
            return await self.execute(outcome.permit)
        return deliver(outcome, self.settings.result_mode)

    async def authorize_handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> HandoffAllowed | HandoffDenied | HandoffSuspended:
        """Decide a handoff from one agent to another; the application carries it out.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
        """
        request = CallRequest.of_handoff(to_agent_name, raw_payload, **options)
        attempt = begin_handoff(request, Deadline.after(self.settings.deadline), self.settings)
        if not isinstance(attempt, HandoffAttempt):
            return attempt
        return conclude_handoff(attempt, await self._ask(self.settings.handoff_path, attempt), self.settings)

    async def handoff(
        self, to_agent_name: str, raw_payload: str | dict[str, Any], **options: Unpack[HandoffOptions]
    ) -> JsonObject | RefusalResult:
        """Decide a handoff and deliver the answer, as `call` does for tools.

        Returns:
            The payload that was judged, for the application to hand over; or a `RefusalResult` in mode ``tool_result``.

        Raises:
            ToolArgumentsValidationError: the payload is no strict JSON object; policy was not asked.
            HandoffPolicyDeniedError: denied, in mode ``throw``.
            HandoffApprovalRequiredError: a person must approve first, in mode ``throw``.
        """
        outcome = await self.authorize_handoff(to_agent_name, raw_payload, **options)
        if isinstance(outcome, HandoffAllowed):
            return outcome.payload
        return deliver(outcome, self.settings.result_mode)

    async def check(self, *, handoffs: bool = False) -> CheckReport:
        """Ask the engine for a probe decision, and say in words what is wrong with this set-up.

        Args:
            handoffs: ask for a probe handoff too, at the handoff path.

        Raises:
            GuardCheckError: this guard could not allow anything, or allows what nobody owns.
        """
        deadline = Deadline.after(self.settings.deadline)
        if handoffs:
            probe = handoff_probe(self.settings, deadline)
            judge_handoff_probe(
                self._core, self._engine.name, probe, await self._ask(self.settings.handoff_path, probe)
            )
        attempt = tool_probe(self._core, deadline)
        return report(self._core, self._engine.name, attempt, await self._ask(self.settings.tool_path, attempt))

    async def _ask(self, path: DecisionPath, attempt: Attempt | HandoffAttempt) -> EngineAnswer | BaseException:
        try:
            if self._engine_keeps_deadlines:
                return await self._engine.evaluate_async(path, attempt.body, attempt.deadline)
            async with asyncio.timeout(attempt.deadline.remaining()):
                return await self._engine.evaluate_async(path, attempt.body, attempt.deadline)
        except (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an engine in process is a BaseException; it is a deny
            return error

    async def _run(self, call: PermittedCall) -> Any:
        # Providers first: whatever they do to the arguments, the recheck after them sees.
        try:
            injected = {name: await _given(value) for name, value in self._core.injected(call).items()}
        except Exception as error:  # noqa: BLE001 - the handler was not entered: a deny
            return deliver(self._core.injection_failed(call, error), self.settings.result_mode)

        def enter() -> tuple[Denied | None, Any]:
            # In one step with the recheck, also when this runs in a thread that starts later; bound only after it.
            refused = self._core.ready(call)
            if refused is not None:
                return refused, None
            args, kwargs = call.tool.schema.bind(call.parsed)
            try:
                return None, call.tool.handler(*args, **kwargs, **injected)
            except StopIteration as error:
                # No future can carry a StopIteration (PEP 479): awaiting it would never end.
                raise RuntimeError("the handler raised StopIteration") from error

        try:
            if is_async(call.tool.handler):
                refused, result = enter()
                result = await result if refused is None else None
            else:
                refused, result = await asyncio.to_thread(enter)
        except AiocOpaError as error:
            raise escaped_from_handler(error, call.tool.name) from error
        return result if refused is None else deliver(refused, self.settings.result_mode)


async def _given(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
